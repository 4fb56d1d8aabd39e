//! Checks the crate: cargo run --example check -- STORE VECTORS. Prints "ok".

use std::collections::HashSet;

use snowfence::{decode, format, parse, Error, Generator};

fn main() -> Result<(), Error> {
    let args: Vec<String> = std::env::args().collect();
    vectors(&args[2])?;
    let ids = Generator::open(Some(&args[1]), None, Some("label=rust,lead=2000"))?;
    let mut made = HashSet::new();
    std::thread::scope(|s| {
        let threads: Vec<_> = (0..4).map(|_| s.spawn(|| ids.ring().take(20_000).collect::<Result<Vec<_>, _>>())).collect();
        for t in threads {
            let own = t.join().unwrap()?;
            assert!(own.windows(2).all(|w| w[0] < w[1]));
            made.extend(own);
        }
        Ok::<(), Error>(())
    })?;
    assert_eq!(made.len(), 80_000);
    let mut more = [0; 3];
    ids.fill(&mut more).map_err(|(_, e)| e)?;
    assert_eq!(ids.decode(ids.next()?)?.node, ids.decode(more[2])?.node);
    assert_eq!(Generator::open(Some("mem:"), None, Some("leed=1")).err().unwrap().status, 4);
    assert_eq!(parse("xyz", None).err().unwrap().status, 4);
    ids.close()?;
    println!("ok");
    Ok(())
}

fn vectors(path: &str) -> Result<(), Error> {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.lines().count() > 40);
    for line in text.lines() {
        let v: Vec<&str> = line.split('\t').collect();
        let p = decode(Some(v[0]), v[1].parse().unwrap())?;
        for (want, got) in v[2..].iter().zip([p.tick, p.node, p.sequence, p.rollback, p.scatter, p.tag]) {
            assert!(*want == "-" || *want == got.to_string(), "{line}");
        }
    }
    assert_eq!(parse(&format(1 << 62, Some("base58"))?, Some("base58"))?, 1 << 62);
    Ok(())
}
