//! Neighbours: ARP, adjacencies, the resolution queue.
