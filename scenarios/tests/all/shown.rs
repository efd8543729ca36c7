//! Output about packets, read by other programs: Wireshark reads a capture's comments, an XML reader and a renderer
//! read the picture of the graph.

use std::cell::RefCell;
use std::io::Write;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

use quick_xml::Reader;
use quick_xml::events::Event;
use quiver_control::cli::Output;
use quiver_runtime::files::MemoryFiles;
use quiver_testkit::daemon::Daemon;

const CONFIGURATION: &str = "
    create packet-generator interface pg0 hw-addr 02:00:00:00:00:a0
    create packet-generator interface pg1 hw-addr 02:00:00:00:00:a1
    set interface state pg0 up
    set interface state pg1 up
    set interface ip address pg0 10.0.0.1/24
    set interface ip address pg1 10.0.1.1/24
    ip neighbor pg1 10.0.1.2 02:00:00:00:00:12
    ip route add 20.0.0.0/8 via 10.0.1.2 pg1
    ip route add 30.0.0.0/8 via drop
    packet-generator new { name there source pg0 rate 2000 data { IP4: 02:00:00:00:00:02 -> 02:00:00:00:00:a0 \
     UDP: 10.0.0.2 -> 20.0.0.1 UDP: 1 -> 2 } }
    ip neighbor pg0 10.0.0.2 02:00:00:00:00:02
    packet-generator new { name stray source pg0 rate 40 data { IP4: 02:00:00:00:00:02 -> 02:00:00:00:00:a0 \
     UDP: 10.0.0.2 -> 40.0.0.1 UDP: 1 -> 2 } }
    packet-generator new { name old source pg0 rate 50 data { IP4: 02:00:00:00:00:02 -> 02:00:00:00:00:a0 \
     UDP: 10.0.0.2 -> 20.0.0.1 ttl 1 UDP: 1 -> 2 } }
    packet-generator new { name lost source pg0 rate 30 data { IP4: 02:00:00:00:00:02 -> 02:00:00:00:00:a0 \
     UDP: 10.0.0.2 -> 30.0.0.1 UDP: 1 -> 2 } }
";

fn daemon(files: &MemoryFiles) -> Daemon {
    let mut daemon = quiver_scenarios::daemon("");
    quiver_runtime::capture_to(daemon.control(), Rc::new(files.clone()));
    daemon.configure(CONFIGURATION);
    daemon
}

/// The columns of each packet that tshark shows of a file.
fn shown_by_tshark(bytes: &[u8], fields: &[&str]) -> Vec<Vec<String>> {
    let mut file = tempfile::NamedTempFile::with_suffix(".pcapng").expect("there is room for a file");
    file.write_all(bytes).expect("there is room in it");
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file.path()).args(["-T", "fields"]);
    command.args(fields.iter().flat_map(|field| ["-e", field]));
    let output = command.output().expect("install it: apt-get install --no-install-recommends tshark");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("tshark writes text");
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

/// A packet that is sent, and one that is dropped.
fn send_two(daemon: &mut Daemon) {
    for to in ["20.0.0.9", "30.0.0.9"] {
        let packet =
            format!("eth 02:00:00:00:00:02 > 02:00:00:00:00:a0 / ip4 10.0.0.2 > {to} ttl 64 / udp 1 > 2 / payload 18");
        let packet: quiver_testkit::packet::Packet = packet.parse().expect("a packet");
        daemon.send("pg0", &packet.to_bytes()).expect("pg0 is up");
        daemon.settle().expect("nothing circles");
    }
}

#[test]
fn tshark_shows_where_packets_were_seen_and_why_they_were_dropped() {
    let files = MemoryFiles::default();
    let mut daemon = daemon(&files);
    daemon.configure("pcap trace rx tx drop intfc any file seen.pcapng");
    send_two(&mut daemon);
    daemon.run("pcap trace off").expect("it runs");
    let bytes = files.read("/tmp/seen.pcapng").expect("packets were seen");
    let columns = ["frame.comment", "frame.interface_name", "ip.dst", "ip.ttl"];
    let mut shown = shown_by_tshark(&bytes, &columns);
    shown.sort();
    let expected = [
        ["dropped by ip4-lookup: route-drop", "pg0", "30.0.0.9", "64"],
        ["received", "pg0", "20.0.0.9", "64"],
        ["received", "pg0", "30.0.0.9", "64"],
        ["sent", "pg1", "20.0.0.9", "63"],
    ];
    assert_eq!(shown, expected.map(|row| row.map(str::to_owned).to_vec()));
}

/// An element's name, and its attributes.
type Element = (String, Vec<(String, String)>);

/// The elements of a picture, with their attributes, and its words. An error if it is no XML.
fn elements(svg: &str) -> Result<(Vec<Element>, Vec<String>), quick_xml::Error> {
    let (mut reader, mut found, mut words) = (Reader::from_str(svg), vec![], vec![]);
    reader.config_mut().trim_text(true);
    loop {
        match reader.read_event()? {
            Event::Start(element) | Event::Empty(element) => {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let mut attributes = vec![];
                for attribute in element.attributes() {
                    let attribute = attribute?;
                    attributes.push((text(attribute.key.as_ref()), text(&attribute.value)));
                }
                found.push((text(element.name().as_ref()), attributes));
            }
            Event::Text(text) => words.push(String::from_utf8_lossy(&text).into_owned()),
            Event::Eof => return Ok((found, words)),
            _ => {}
        }
    }
}

#[test]
fn tshark_names_the_nodes_that_a_packet_came_to() {
    let files = MemoryFiles::default();
    let mut daemon = daemon(&files);
    daemon.run("pcap dispatch trace on max 100 file nodes.pcap buffer-trace ethernet-input 1").expect("it starts");
    let refused = daemon.run("pcap dispatch trace on file other.pcap").expect_err("one at a time").to_string();
    assert!(
        refused.contains("a capture to /tmp/nodes.pcap is running; `pcap dispatch trace off` ends it"),
        "{refused}"
    );
    send_two(&mut daemon);
    let ended = daemon.run("pcap dispatch trace off").expect("it ends").text;
    let bytes = files.read("/tmp/nodes.pcap").expect("packets were seen");
    let shown = shown_by_tshark(&bytes, &["vpp.NodeName", "ip.dst", "ip.ttl", "_ws.malformed"]);
    assert!(ended.starts_with(&format!("Write {} packets to /tmp/nodes.pcap, 0 lost", shown.len())), "{ended}");
    let path = |to: &str| shown.iter().filter(|row| row[1] == to).map(|row| row[0].as_str()).collect::<Vec<_>>();
    let common = ["pg-input", "ethernet-input", "ip4-input", "ip4-lookup"];
    assert_eq!(path("20.0.0.9"), [&common[..], &["ip4-rewrite", "interface-output"]].concat());
    assert_eq!(path("30.0.0.9"), [&common[..], &["drop"]].concat());
    // Each packet as it is where it is: behind `ip4-rewrite` with one hop less.
    let ttls: Vec<_> = shown.iter().filter(|row| row[1] == "20.0.0.9").map(|row| row[2].as_str()).collect();
    assert_eq!(ttls, ["64", "64", "64", "64", "64", "63"]);
    assert!(shown.iter().all(|row| row[3].is_empty()), "{shown:?}");
    // What is said of the buffers, and of the packets in them.
    let said = shown_by_tshark(&bytes, &["vpp.NodeName", "vpp.metadata", "vpp.opaque", "vpp.opaque2"]);
    let at = |node: &str| said.iter().find(|row| row[0] == node).expect("a packet came to it");
    assert_eq!(at("pg-input")[1], "flags: none,current_data: 0, current_length: 60,", "{said:?}");
    let rewrite = at("ip4-rewrite");
    assert!(rewrite[1].contains("flags: traced") && rewrite[1].contains("current_length: 46"), "{said:?}");
    assert!(rewrite[2].contains("from pg0 to local0, hop"), "{said:?}");
    let trace = daemon.run("show trace").expect("it can be shown").text;
    assert!(trace.contains("ip4-rewrite") && !trace.contains("Packet 2"), "{trace}");
}

/// The picture of the graph while packets are forwarded, dropped, and answered for by errors.
fn picture() -> String {
    let mut daemon = daemon(&MemoryFiles::default());
    for stream in ["there", "lost", "stray", "old"] {
        daemon.run(&format!("packet-generator enable {stream}")).expect("there is such a stream");
    }
    daemon.advance(Duration::from_secs(1)).expect("time passes");
    let (control, output, reply) = (daemon.control().clone(), Output::default(), Rc::new(RefCell::new(None)));
    let told = reply.clone();
    daemon.control().spawn("picture", async move {
        *told.borrow_mut() = Some(control.commands().run(&control, "show graph svg seconds 2", &output).await);
    });
    daemon.advance(Duration::from_millis(2500)).expect("time passes");
    reply.borrow_mut().take().expect("it is drawn by now").expect("it can be drawn").text
}

/// Something that a browser drew: what it is, its words, and left, top, right and bottom in pixels of the screen.
#[derive(Debug)]
struct Drawn {
    what: String,
    words: String,
    edges: [f64; 4],
}

impl Drawn {
    fn contains(&self, other: &Drawn) -> bool {
        let ([left, top, right, bottom], [l, t, r, b]) = (self.edges, other.edges);
        left <= l && top <= t && r <= right && b <= bottom
    }
    fn meets(&self, other: &Drawn) -> bool {
        let ([left, top, right, bottom], [l, t, r, b]) = (self.edges, other.edges);
        left < r && l < right && top < b && t < bottom
    }
}

/// Elements of a picture as Chromium draws them, in the order of the file: the picture, boxes, texts, and lines with
/// their titles. Behind each line come its two ends.
fn drawn_by_a_browser(svg: &str) -> Vec<Drawn> {
    let folder = tempfile::tempdir().expect("there is room");
    let script = "
        frame.onload = () => {
            const found = [];
            for (const it of frame.contentDocument.querySelectorAll('svg, rect, text, path')) {
                const box = it.getBoundingClientRect(), title = it.querySelector('title');
                const words = it.tagName == 'text' ? it.textContent : it.tagName == 'path' && title ? title.textContent : '';
                found.push([it.tagName, words, box.left, box.top, box.right, box.bottom]);
                if (it.tagName == 'path') {
                    const from = it.getPointAtLength(0), to = it.getPointAtLength(it.getTotalLength());
                    found.push(['ends', words, from.x, from.y, to.x, to.y]);
                }
            }
            said.textContent = JSON.stringify(found);
        };";
    let page = format!(
        "<!doctype html><iframe id=frame src=graph.svg width=6000 height=3000></iframe><pre id=said></pre>\
         <script>{script}</script>"
    );
    std::fs::write(folder.path().join("graph.svg"), svg).expect("there is room");
    std::fs::write(folder.path().join("page.html"), page).expect("there is room");
    let mut command = Command::new("chromium");
    // Its sandbox needs rights that a container may lack; the page is ours.
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
    command.args(["--allow-file-access-from-files", "--virtual-time-budget=10000", "--dump-dom"]);
    command.arg(format!("--user-data-dir={}", folder.path().join("profile").display()));
    command.arg(format!("file://{}", folder.path().join("page.html").display()));
    let output = command.output().expect("install it: apt-get install --no-install-recommends chromium");
    let page = String::from_utf8_lossy(&output.stdout);
    let said = page.split_once("<pre id=\"said\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let said = said.unwrap_or_else(|| panic!("{page}{}", String::from_utf8_lossy(&output.stderr))).0;
    // As HTML writes it.
    let said = said.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let found: Vec<(String, String, f64, f64, f64, f64)> =
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {page}"));
    let drawn = |(what, words, left, top, right, bottom)| Drawn { what, words, edges: [left, top, right, bottom] };
    found.into_iter().map(drawn).collect()
}

#[test]
fn a_browser_shows_the_graph_with_all_its_words_legible() {
    let svg = picture();
    let drawn = drawn_by_a_browser(&svg);
    let (root, drawn) = drawn.split_first().expect("the picture");
    let (background, drawn) = drawn.split_first().expect("its background");
    assert_eq!((root.what.as_str(), background.edges), ("svg", root.edges), "the background is behind all of it");
    let of = |what: &'static str| drawn.iter().filter(move |it| it.what == what);
    for it in drawn.iter().filter(|it| it.what != "ends") {
        assert!(root.contains(it), "in the picture: {it:?}, {root:?}");
    }
    for text in of("text") {
        let [left, top, right, bottom] = text.edges;
        assert!(right - left > 4.0 && bottom - top > 4.0, "it can be read: {text:?}");
        for other in of("text").filter(|other| !std::ptr::eq(*other, text)) {
            assert!(!text.meets(other), "{text:?} is written on {other:?}");
        }
        // A name lies within its box, and a rate outside of all.
        let boxes: Vec<_> = of("rect").filter(|rect| rect.meets(text)).collect();
        match text.words.ends_with("/s") {
            true => assert!(boxes.is_empty(), "{text:?} is written on {boxes:?}"),
            false => assert!(matches!(boxes[..], [only] if only.contains(text)), "{text:?} is not within {boxes:?}"),
        }
    }
    let words: Vec<_> = of("text").map(|text| text.words.as_str()).collect();
    let nodes = ["pg-input", "device-input", "ip4-lookup", "sent", "ip4-lookup: route-drop", "icmp4-error"];
    for word in nodes.into_iter().chain(["icmp4-error: network-unreachable", "30/s", "2.1 k/s"]) {
        assert!(words.contains(&word), "{word}: {words:?}");
    }
    // Every rate belongs to a line, which says by which arc when it is pointed at, and leads from box to box.
    let (rates, lines) = (words.iter().filter(|word| word.ends_with("/s")).count(), of("path").count());
    assert_eq!(of("path").filter(|line| !line.words.is_empty()).count(), rates, "of {lines} lines");
    for ends in of("ends") {
        let [x, y, to_x, to_y] = ends.edges;
        let touches = |x: f64, y: f64, side: usize| {
            let is_there = |[_, top, _, bottom]: [f64; 4]| (top..bottom).contains(&y);
            of("rect").any(|rect| (rect.edges[side] - x).abs() < 1.5 && is_there(rect.edges))
        };
        assert!(touches(x, y, 2) && touches(to_x, to_y, 0), "it leads from nowhere, or to it: {ends:?}");
    }
}

#[test]
fn the_picture_of_the_graph_is_svg_with_the_rates_of_now() {
    let svg = picture();
    let (elements, words) = elements(&svg).unwrap_or_else(|error| panic!("no XML: {error}: {svg}"));
    let (root, attributes) = elements.first().expect("there is a root");
    let namespace = ("xmlns".to_owned(), "http://www.w3.org/2000/svg".to_owned());
    assert!(root == "svg" && attributes.contains(&namespace), "{svg}");
    // Whatever is drawn lies within the picture.
    let number = |attributes: &[(String, String)], name: &str| {
        attributes.iter().find(|(key, _)| key == name).and_then(|(_, value)| value.parse::<f64>().ok())
    };
    let (width, height) = (number(attributes, "width"), number(attributes, "height"));
    let (width, height) = (width.expect("it has a width"), height.expect("it has a height"));
    for (name, attributes) in &elements {
        let (x, y) = (number(attributes, "x").unwrap_or(0.0), number(attributes, "y").unwrap_or(0.0));
        assert!((0.0..width).contains(&x) && (0.0..height).contains(&y), "{name} at {x}, {y}: {svg}");
    }
    let has = |word: &str| words.iter().any(|found| found == word);
    for node in
        ["pg-input", "ethernet-input", "ip4-input", "ip4-lookup", "ip4-rewrite", "sent", "ip4-lookup: route-drop"]
    {
        assert!(has(node), "{node}: {words:?}");
    }
    assert!(has("2.1 k/s") && has("30/s"), "the rates of the streams: {words:?}");
    let paths = elements.iter().filter(|(name, _)| name == "path").count();
    let rates = words.iter().filter(|word| word.ends_with("/s")).count();
    assert!(paths >= rates && rates > 6, "{paths} lines, {rates} rates");
    assert_eq!(rendered(&svg), (width as u32, height as u32), "as large as it says");
}

/// Width and height of the picture that a renderer makes of SVG; to be looked at in the folder `QUIVER_PICTURES`, if there is one.
fn rendered(svg: &str) -> (u32, u32) {
    let made = tempfile::tempdir().expect("there is room");
    let folder = std::env::var_os("QUIVER_PICTURES").map_or(made.path().to_path_buf(), std::path::PathBuf::from);
    let (svg_file, png_file) = (folder.join("graph.svg"), folder.join("graph.png"));
    std::fs::write(&svg_file, svg).expect("the folder is there");
    let done = Command::new("rsvg-convert").arg(&svg_file).arg("--output").arg(&png_file).output();
    let done = done.expect("install it: apt-get install --no-install-recommends librsvg2-bin");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    // Its header comes first (PNG, 11.2.2).
    let png = std::fs::read(png_file).expect("it was written");
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().expect("four bytes"));
    assert_eq!(&png[12..16], b"IHDR");
    (number(16), number(20))
}
