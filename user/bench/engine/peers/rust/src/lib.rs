// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Libraries of Rust as peers of ../../../peer.h: prefix-trie, and iptrie's level-compressed trie.
use iptrie::{Ipv6LCTrieMap, Ipv6Prefix, Ipv6RTrieMap};
use prefix_trie::PrefixMap;
use std::ffi::{c_void, CStr};
use std::ptr::null;

#[repr(C)]
struct Prefix([u8; 16], u32, u32); // address, length, 0

/// struct bench_peer: the name, and functions.
#[repr(C)]
pub struct Peer([*const c_void; 6]);
unsafe impl Sync for Peer {} // all of it is constant

trait Trie {
    fn of(routes: impl Iterator<Item = ((u128, u8), u32)>) -> Self;
    fn longest(&self, addr: u128) -> u32;
}

impl Trie for PrefixMap<(u128, u8), u32> {
    fn of(routes: impl Iterator<Item = ((u128, u8), u32)>) -> Self {
        routes.collect()
    }
    fn longest(&self, addr: u128) -> u32 {
        self.get_lpm(&(addr, 128)).map_or(0, |(_, value)| *value)
    }
}

/// ::/0 always matches: its value is 0 unless a route replaces it.
impl Trie for Ipv6LCTrieMap<u32> {
    fn of(routes: impl Iterator<Item = ((u128, u8), u32)>) -> Self {
        let prefix = |(addr, len): (u128, u8)| Ipv6Prefix::new(addr.into(), len).unwrap();
        routes.map(|(key, value)| (prefix(key), value)).collect::<Ipv6RTrieMap<u32>>().compress()
    }
    fn longest(&self, addr: u128) -> u32 {
        *self.lookup(&std::net::Ipv6Addr::from(addr)).1
    }
}

extern "C" fn fill<T: Trie>(prefixes: *const Prefix, n: usize, _ns: *mut u64) -> *mut c_void {
    let prefixes = unsafe { std::slice::from_raw_parts(prefixes, n) };
    let before = heap_bytes();
    let trie = T::of(prefixes.iter().map(|p| (u128::from_be_bytes(p.0), p.1 as u8)).zip(1..));
    Box::into_raw(Box::new((trie, heap_bytes() - before))).cast()
}

extern "C" fn bytes<T>(fib: *const c_void) -> u64 {
    unsafe { (*fib.cast::<(T, u64)>()).1 }
}

extern "C" fn find<T: Trie>(fib: *const c_void, addrs: *const [u8; 16], values: *mut u32, n: usize) {
    let (trie, _) = unsafe { &*fib.cast::<(T, u64)>() };
    for i in 0..n {
        unsafe { *values.add(i) = trie.longest(u128::from_be_bytes(*addrs.add(i))) };
    }
}

#[repr(C)]
struct Mallinfo2([usize; 10]); // of glibc: the fifth and the eighth are all bytes in use
extern "C" {
    fn mallinfo2() -> Mallinfo2;
}

fn heap_bytes() -> u64 {
    let Mallinfo2(info) = unsafe { mallinfo2() };
    (info[4] + info[7]) as u64
}

const fn peer<T: Trie>(name: &CStr) -> Peer {
    let name = name.as_ptr().cast();
    Peer([name, null(), fill::<T> as *const c_void, bytes::<T> as *const c_void, find::<T> as *const c_void, null()])
}

#[no_mangle]
#[allow(non_upper_case_globals)]
pub static bench_peers: [Peer; 3] =
    [peer::<PrefixMap<(u128, u8), u32>>(c"prefix-trie"), peer::<Ipv6LCTrieMap<u32>>(c"iptrie"), Peer([null(); 6])];
