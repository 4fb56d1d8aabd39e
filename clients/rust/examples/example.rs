//! Prints IDs: cargo run --release --example example -- STORE N

use std::io::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let (store, n) = (args.get(1).ok_or("STORE N")?, args.get(2).ok_or("STORE N")?.parse()?);
    let ids = snowfence::Generator::open(Some(store), None, Some("label=rust-example"))?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for id in ids.ring().take(n) {
        writeln!(out, "{}", id?)?;
    }
    out.flush()?;
    ids.close()?;
    Ok(())
}
