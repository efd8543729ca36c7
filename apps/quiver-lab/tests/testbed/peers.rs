//! Devices other than Quiver on the ports of other hosts, which they leave as they were.

use libtest_mimic::Failed;
use quiver_netns::find;
use quiver_result::Trial;

use crate::bed::{Bed, Form};
use crate::{check, measured};

pub fn kernel(bed: &Bed) -> Result<(), Failed> {
    let before = bed.state()?;
    for (case, name) in [
        ("l2bdbase AND 64b", "64b-1c-2n1l-af-packet-eth-l2bdbasemaclrn-linux-mrr"),
        ("ip4base AND 64b", "64b-1c-2n1l-af-packet-ethip4-ip4base-linux-mrr"),
        ("ip6base AND 78b", "78b-1c-2n1l-af-packet-ethip6-ip6base-linux-mrr"),
    ] {
        let document = measured(bed, &Form::TWO, &format!("linux AND eth AND {case} AND mrr"))?;
        check(&document, &["tg", "dut1"], "linux", "e1 rx packets")?;
        assert_eq!(document.test_name_long, name);
        bed.is_clean()?;
        assert_eq!(bed.state()?, before);
    }
    // What somebody else has made there is left to them, and what was done before it was met is undone.
    bed.first().ip("link add quiver-br type bridge")?;
    let taken = bed.state()?;
    let said = bed.refused(&Form::TWO.file(), "linux AND eth AND l2bdbase AND 64b AND mrr")?;
    assert!(said.contains("dut1: linux refuses `ip link add quiver-br type bridge"), "{said}");
    assert!(said.contains("File exists"), "{said}");
    bed.is_clean()?;
    assert_eq!(bed.state()?, taken);
    bed.first().ip("link delete quiver-br")?;
    assert_eq!(bed.state()?, before);
    Ok(())
}

pub fn kernels(bed: &Bed) -> Result<(), Failed> {
    let before = bed.state()?;
    let document = measured(bed, &Form::THREE, "linux AND eth AND ip4base AND 64b AND mrr")?;
    check(&document, &["tg", "dut1", "dut2"], "linux", "e1 rx packets")?;
    assert_eq!(document.test_name_long, "64b-1c-af-packet-ethip4-ip4base-linux-mrr");
    bed.is_clean()?;
    assert_eq!(bed.state()?, before);
    Ok(())
}

pub fn vpp(bed: &Bed) -> Result<(), Failed> {
    let before = bed.state()?;
    let program = find("vpp").ok_or("vpp is there")?.canonicalize()?.display().to_string();
    let there = |form: &Form| {
        let text = form.file().replace("programs: {", &format!("programs: {{vpp: {program}, "));
        text.replacen("ssh-config", &format!("programs: {{vpp: {program}}}, ssh-config"), 1)
    };
    let cases = [(Form::TWO, "l2xcbase"), (Form::TWO, "l2bdbase"), (Form::THREE, "ip4base")];
    for (form, case) in cases {
        let (documents, said) = bed.run(&there(&form), &format!("vpp AND eth AND {case} AND 64b AND 1c AND mrr"))?;
        let document = documents.first().ok_or(said)?;
        let extension = document.quiver.as_ref().ok_or("what the lab adds")?;
        // What its packet sockets lose is not known there.
        let is_whole = |trial: &Trial| trial.received_packets > 0 && trial.busy.is_some();
        assert!(extension.trials.iter().all(is_whole), "{:?}", extension.trials);
        let after = extension.counters_after.get("vpp").ok_or("the device's counters")?;
        assert!(after.get("host-e1 rx packets").is_some_and(|count| *count > 0), "{after:?}");
        bed.is_clean()?;
        assert_eq!(bed.state()?, before);
    }
    Ok(())
}

pub fn testpmd(bed: &Bed) -> Result<(), Failed> {
    let before = bed.state()?;
    let forms: [(Form, &str, &[&str]); 2] =
        [(Form::TWO, "2n1l-", &["tg", "dut1"]), (Form::THREE, "", &["tg", "dut1", "dut2"])];
    for (form, topology, hosts) in forms {
        let (documents, said) = bed.run(&form.file(), "testpmd AND eth AND l2xcbase AND 64b AND 1c AND mrr")?;
        let document = documents.first().ok_or(said)?;
        assert_eq!(document.test_name_long, format!("64b-1c-{topology}af-packet-eth-l2xcbase-testpmd-mrr"));
        check(document, hosts, "testpmd", "port 0 RX-packets")?;
        bed.is_clean()?;
        assert_eq!(bed.state()?, before);
    }
    let missing =
        Form::TWO.file().replacen("ssh-config", "programs: {dpdk-testpmd: /nonexistent/testpmd}, ssh-config", 1);
    let said = bed.refused(&missing, "testpmd AND eth AND l2xcbase AND 64b AND 1c AND mrr")?;
    assert!(
        said.contains("dut1: there is no program /nonexistent/testpmd; let root run `apt-get install dpdk-dev`"),
        "{said}"
    );
    Ok(())
}
