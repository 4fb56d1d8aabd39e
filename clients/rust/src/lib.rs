//! 64-bit IDs that never repeat within a namespace of a store, made in your process by the C library.
//!
//! ```no_run
//! let ids = snowfence::Generator::open(Some("sqlite:/var/lib/shop/ids.db"), None, None)?;
//! let order = ids.next()?;
//! let mut ring = ids.ring(); // for one thread: a few nanoseconds an ID
//! let other = ring.next().unwrap()?;
//! # Ok::<(), snowfence::Error>(())
//! ```

use std::ffi::{c_char, c_int, CString};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::null;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

extern "C" {
    fn snowfence_abi_version() -> c_int;
    fn snowfence_last_error(buf: *mut c_char, size: usize) -> usize;
    fn snowfence_open(store: *const c_char, ns: *const c_char, options: *const c_char, out: *mut usize) -> c_int;
    fn snowfence_open_statefile(
        path: *const c_char,
        layout: *const c_char,
        node: i64,
        options: *const c_char,
        out: *mut usize,
    ) -> c_int;
    fn snowfence_open_static(layout: *const c_char, node: i64, options: *const c_char, out: *mut usize) -> c_int;
    fn snowfence_next(ids: usize, id: *mut i64) -> c_int;
    fn snowfence_fill(ids: usize, buf: *mut i64, n: usize, made: *mut usize) -> c_int;
    fn snowfence_ring_take(ring: *mut u64, ids: usize, id: *mut i64) -> c_int;
    fn snowfence_ring_refill(ring: *mut u64, ids: usize, id: *mut i64) -> c_int;
    fn snowfence_close(ids: usize) -> c_int;
    fn snowfence_decode(layout: *const c_char, id: i64, parts: *mut [i64; 9]) -> c_int;
    fn snowfence_decode_own(ids: usize, id: i64, parts: *mut [i64; 9]) -> c_int;
    fn snowfence_format(id: i64, encoding: *const c_char, buf: *mut c_char, size: usize, length: *mut usize) -> c_int;
    fn snowfence_parse(text: *const c_char, encoding: *const c_char, id: *mut i64) -> c_int;
}

/// What went wrong: what happened, to what, and what to do.
#[derive(Debug, Clone)]
pub struct Error {
    /// The number in snowfence.h.
    pub status: i32,
    text: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

fn check(status: c_int) -> Result<(), Error> {
    if status == 0 {
        return Ok(());
    }
    let mut buf = [0u8; 1024];
    let n = unsafe { snowfence_last_error(buf.as_mut_ptr().cast(), buf.len()) };
    let text = String::from_utf8_lossy(&buf[..n.min(buf.len() - 1)]).into_owned();
    Err(Error { status, text })
}

/// A text of C; None is NULL.
fn text(s: Option<&str>) -> Result<Option<CString>, Error> {
    s.map(CString::new).transpose().map_err(|_| Error { status: 4, text: "a text has a zero byte".into() })
}

fn pointer(s: &Option<CString>) -> *const c_char {
    s.as_ref().map_or(null(), |s| s.as_ptr())
}

/// An ID taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    pub tick: i64,
    pub time: SystemTime,
    pub node: i64,
    pub sequence: i64,
    pub rollback: i64,
    pub key: i64,
    pub scatter: i64,
    pub tag: i64,
}

fn parts(p: [i64; 9]) -> Parts {
    let seconds = Duration::from_secs(p[1].unsigned_abs());
    let start = if p[1] < 0 { UNIX_EPOCH - seconds } else { UNIX_EPOCH + seconds };
    Parts {
        tick: p[0],
        time: start + Duration::from_nanos(p[2] as u64),
        node: p[3],
        sequence: p[4],
        rollback: p[5],
        key: p[6],
        scatter: p[7],
        tag: p[8],
    }
}

/// Makes IDs. Threads may share one. Its end gives the node back.
pub struct Generator {
    handle: usize,
}

impl Generator {
    fn opened(call: impl FnOnce(*mut usize) -> c_int) -> Result<Generator, Error> {
        if unsafe { snowfence_abi_version() } != 1 {
            let text = "libsnowfence has another ABI version than this crate, which is for 1".into();
            return Err(Error { status: 9, text });
        }
        let mut handle = 0;
        check(call(&mut handle))?;
        Ok(Generator { handle })
    }

    /// Leases a node from a store (None: the store of this machine), with options such as "lead=2000".
    pub fn open(store: Option<&str>, ns: Option<&str>, options: Option<&str>) -> Result<Generator, Error> {
        let (s, n, o) = (text(store)?, text(ns)?, text(options)?);
        Generator::opened(|out| unsafe { snowfence_open(pointer(&s), pointer(&n), pointer(&o), out) })
    }

    /// Makes IDs of one node, whose use a file remembers over restarts.
    pub fn open_statefile(
        path: &str,
        layout: Option<&str>,
        node: i64,
        options: Option<&str>,
    ) -> Result<Generator, Error> {
        let (p, l, o) = (text(Some(path))?, text(layout)?, text(options)?);
        Generator::opened(|out| unsafe { snowfence_open_statefile(pointer(&p), pointer(&l), node, pointer(&o), out) })
    }

    /// Makes IDs of a bare number. It is safe inside this process only.
    pub fn open_static(layout: Option<&str>, node: i64, options: Option<&str>) -> Result<Generator, Error> {
        let (l, o) = (text(layout)?, text(options)?);
        Generator::opened(|out| unsafe { snowfence_open_static(pointer(&l), node, pointer(&o), out) })
    }

    /// Makes an ID.
    #[allow(clippy::should_implement_trait)] // a generator is shared, an iterator is not
    pub fn next(&self) -> Result<i64, Error> {
        let mut id = 0;
        check(unsafe { snowfence_next(self.handle, &mut id) })?;
        Ok(id)
    }

    /// Makes as many IDs as fit. Those with the same bits above the time increase. An error says how many at the front are good.
    pub fn fill(&self, ids: &mut [i64]) -> Result<(), (usize, Error)> {
        let mut made = 0;
        check(unsafe { snowfence_fill(self.handle, ids.as_mut_ptr(), ids.len(), &mut made) }).map_err(|e| (made, e))
    }

    /// IDs taken ahead, for one thread.
    pub fn ring(&self) -> Ring<'_> {
        Ring { handle: self.handle, memory: [0; RING_WORDS], of: PhantomData }
    }

    /// Takes an ID apart, with the layout and the secrets of this generator.
    pub fn decode(&self, id: i64) -> Result<Parts, Error> {
        let mut p = [0; 9];
        check(unsafe { snowfence_decode_own(self.handle, id, &mut p) })?;
        Ok(parts(p))
    }

    /// Gives the node back, and says if the store did not answer.
    pub fn close(self) -> Result<(), Error> {
        let handle = self.handle;
        std::mem::forget(self);
        check(unsafe { snowfence_close(handle) })
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        unsafe { snowfence_close(self.handle) }; // an error means that the node is free later: close() tells
    }
}

const RING_WORDS: usize = 1031; // SNOWFENCE_RING_WORDS

/// IDs taken ahead for one thread. They increase, with the same bits above the time. They are dropped after 100 ms and when the lease was lost.
pub struct Ring<'a> {
    handle: usize,
    memory: [u64; RING_WORDS],
    of: PhantomData<(&'a Generator, *const ())>, // not Send
}

impl Iterator for Ring<'_> {
    type Item = Result<i64, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (ring, mut id) = (self.memory.as_mut_ptr(), 0);
        if unsafe { snowfence_ring_take(ring, self.handle, &mut id) } != 0 {
            return Some(Ok(id));
        }
        Some(check(unsafe { snowfence_ring_refill(ring, self.handle, &mut id) }).map(|()| id))
    }
}

/// Takes an ID apart; None is the default layout.
pub fn decode(layout: Option<&str>, id: i64) -> Result<Parts, Error> {
    let (l, mut p) = (text(layout)?, [0; 9]);
    check(unsafe { snowfence_decode(pointer(&l), id, &mut p) })?;
    Ok(parts(p))
}

/// Writes an ID as text, such as "base58"; None is decimal.
pub fn format(id: i64, encoding: Option<&str>) -> Result<String, Error> {
    let (e, mut buf, mut n) = (text(encoding)?, [0u8; 80], 0);
    check(unsafe { snowfence_format(id, pointer(&e), buf.as_mut_ptr().cast(), buf.len(), &mut n) })?;
    Ok(String::from_utf8_lossy(&buf[..n]).into_owned())
}

/// Reads the text of an ID.
pub fn parse(s: &str, encoding: Option<&str>) -> Result<i64, Error> {
    let (s, e, mut id) = (text(Some(s))?, text(encoding)?, 0);
    check(unsafe { snowfence_parse(pointer(&s), pointer(&e), &mut id) })?;
    Ok(id)
}
