// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Tables of bart, a library of Go, as peers of ../peer.h. C, which may not keep pointers of Go, has their numbers.
package main

/*
#cgo CFLAGS: -I${SRCDIR}/..
#include "peer.h"
extern uintptr_t fill(struct bench_prefix *, size_t, uint64_t *, int fast); extern uint64_t bytes(uintptr_t);
extern void find(uintptr_t, void *, uint32_t *, size_t), find_in_turn(uintptr_t, void *, uint32_t *, size_t);
static uintptr_t fill_table(struct bench_prefix *prefixes, size_t n, uint64_t *ns) { return fill(prefixes, n, ns, 0); }
static uintptr_t fill_fast(struct bench_prefix *prefixes, size_t n, uint64_t *ns) { return fill(prefixes, n, ns, 1); }
#define PEER(name, fill) { name, 0, (void *)fill, (void *)bytes, (void *)find, (void *)find_in_turn }
__attribute__((weak)) const struct bench_peer bench_peers[] = { // weak, since cgo compiles it twice
	PEER("bart", fill_table), PEER("bart-fast", fill_fast), { 0 }
};
*/
import "C"
import "github.com/gaissmai/bart"
import "net/netip"
import "runtime"
import "time"
import "unsafe"

var tables, grown, zero = []table{nil}, []uint64{0}, 0 // by number, with what the heap grew by
type table interface {
	Insert(netip.Prefix, uint32)
	Lookup(netip.Addr) (uint32, bool)
}

func heap() (m runtime.MemStats) { runtime.GC(); runtime.ReadMemStats(&m); return }

//export fill
func fill(prefixes *C.struct_bench_prefix, n C.size_t, ns *C.uint64_t, fast C.int) C.uintptr_t {
	before, t, start := heap(), []table{&bart.Table[uint32]{}, &bart.Fast[uint32]{}}[fast], time.Now()
	for i, p := range unsafe.Slice(prefixes, n) {
		t.Insert(netip.PrefixFrom(netip.AddrFrom16(*(*[16]byte)(unsafe.Pointer(&p.addr))), int(p.len)), uint32(i+1))
	}
	*ns, tables, grown = C.uint64_t(time.Since(start)), append(tables, t), append(grown, heap().HeapAlloc-before.HeapAlloc)
	return C.uintptr_t(len(tables) - 1)
}

//export bytes
func bytes(fib C.uintptr_t) C.uint64_t { return C.uint64_t(grown[fib]) }

//export find
func find(fib C.uintptr_t, addrs unsafe.Pointer, values *uint32, n C.size_t) {
	t, in, out := tables[fib], unsafe.Slice((*[16]byte)(addrs), n), unsafe.Slice(values, n)
	for i := range in {
		out[i], _ = t.Lookup(netip.AddrFrom16(in[i]))
	}
}

//export find_in_turn
func find_in_turn(fib C.uintptr_t, addrs unsafe.Pointer, values *uint32, n C.size_t) {
	t, in, out := tables[fib], unsafe.Slice((*[16]byte)(addrs), n), unsafe.Slice(values, n)
	for i, last := 0, 0; i < len(in); i, last = i+1, int(out[i]) {
		out[i], _ = t.Lookup(netip.AddrFrom16(in[i+last&zero])) // adds 0, but makes the next address depend on the answer
	}
}
func main() {}
