use std::collections::HashSet;

#[test]
fn ids_of_threads_are_unique_and_increase() {
    let ids = snowfence::Generator::open_static(None, 7, Some("lead=2000")).unwrap();
    let mut all = HashSet::new();
    std::thread::scope(|s| {
        let threads: Vec<_> = (0..8).map(|_| s.spawn(|| ids.ring().take(20_000).collect::<Result<Vec<_>, _>>())).collect();
        for t in threads {
            let made = t.join().unwrap().unwrap();
            assert!(made.windows(2).all(|w| w[0] < w[1]));
            all.extend(made);
        }
    });
    let mut more = [0; 1000];
    ids.fill(&mut more).unwrap();
    all.extend(more);
    assert_eq!(all.len(), 161_000);
    assert_eq!(ids.decode(more[0]).unwrap().node, 7);
    assert_eq!(snowfence::Generator::open_static(None, 7, None).err().unwrap().status, 8);
    ids.close().unwrap();
    drop(snowfence::Generator::open_static(None, 7, None).unwrap());
}

#[test]
fn texts() {
    let text = snowfence::format(1 << 62, Some("base58")).unwrap();
    assert_eq!(snowfence::parse(&text, Some("base58")).unwrap(), 1 << 62);
    assert_eq!(snowfence::decode(Some("twitter"), 1 << 22 | 3).unwrap().sequence, 3);
    let e = snowfence::Generator::open(Some("mem:"), None, Some("leed=1")).err().unwrap();
    assert!(e.status == 4 && e.to_string().contains("leed"), "{e}");
    assert!(snowfence::parse("a\0b", None).is_err());
}
