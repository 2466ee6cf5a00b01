//! The name by which programs find the shared library when they start.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,liblaxity_reserve.so.0");
}
