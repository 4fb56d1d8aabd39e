// Where the C library lies, when it is not installed: SNOWFENCE_LIB_DIR.
fn main() {
    println!("cargo:rerun-if-env-changed=SNOWFENCE_LIB_DIR");
    if let Ok(dir) = std::env::var("SNOWFENCE_LIB_DIR") {
        println!("cargo:rustc-link-search=native={dir}");
    }
    println!("cargo:rustc-link-lib=dylib=snowfence");
}
