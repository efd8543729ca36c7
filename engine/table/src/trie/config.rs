//! Size of a table.

/// The size of a table, and the limit on its blocks of memory.
#[derive(Clone, Copy, Debug)]
pub struct LpmConfig {
    kind: Kind,
    blocks_max: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Small,
    Large,
    Slim,
}

impl LpmConfig {
    /// For many routes: the fewest loads. The root takes up to 64 MB for IPv4 and 32 MB for IPv6, of which only what routes
    /// touch becomes real. Room for 2²¹ blocks for IPv4, and 2²⁵ for IPv6.
    pub const fn large() -> LpmConfig {
        LpmConfig { kind: Kind::Large, blocks_max: None }
    }

    /// For few routes: one more load for IPv4. The root takes up to 256 KB for IPv4 and 64 KB for IPv6. Room for 2¹⁶ blocks for
    /// IPv4, and 2¹⁸ for IPv6.
    pub const fn small() -> LpmConfig {
        LpmConfig { kind: Kind::Small, blocks_max: None }
    }

    /// For as many routes as a large table has, where lookups need not be fast: with the root of a small one, in which a short prefix
    /// takes few words, and without huge pages.
    pub const fn slim() -> LpmConfig {
        LpmConfig { kind: Kind::Slim, blocks_max: None }
    }

    /// Sets the limit on blocks of memory, up to 2²⁵ for IPv4 and 2³⁰ for IPv6.
    ///
    /// For IPv4 a block has 1 KB. It is for a /24 that has longer routes inside, and in a small table also for a /16 with
    /// routes longer than that. For IPv6 a block has 32 bytes. A route that is alone takes one, a node of eight words two, and
    /// one of 64 ten. A page of memory has nodes of one size, and a table is full when none is left for a size.
    pub const fn with_blocks_max(self, blocks_max: u32) -> LpmConfig {
        LpmConfig { blocks_max: Some(blocks_max), ..self }
    }

    /// The size of a family's table, by the two that the family has.
    pub(super) fn size(self, small: Size, large: Size, blocks_max: u32) -> Size {
        let size = match self.kind {
            Kind::Small => small,
            Kind::Large => large,
            // A block more for each word of the root.
            Kind::Slim => Size { blocks_max: large.blocks_max + (1 << small.root_bits), ..small },
        };
        Size { blocks_max: self.blocks_max.map_or(size.blocks_max, |max| max.min(blocks_max)), ..size }
    }
}

/// The size of a family's table.
#[derive(Clone, Copy)]
pub struct Size {
    /// Number of leading bits that index the root.
    pub root_bits: u8,
    /// The last block that may be given out.
    pub blocks_max: u32,
    /// Whether its memory lies in pages of 2 MB.
    pub huge_pages: bool,
}
