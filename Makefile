# SPDX-License-Identifier: GPL-2.0-only
# make           the XDP object, the daemon and the CLI, into build/
# make demo      a whole router on this machine, with a full IPv6 table
# make test      every test that this kernel can run
# make test-vm   bonds, VLANs, VRFs and more under Debian's kernels from 6.1 to the newest, in virtual machines
# make matrix    every clang's objects under the verifiers of five kernels: instructions and stack (QUICK=1)
# make release   make demo in a fresh Debian 13 (RELEASE=bookworm: 12; TARGETS="demo test")
# make parity    1,000 random configurations with 1,000 packets each, against the kernel alone
# make lint      formatting, static analysis, the verifier's budget
# make bench     lookups and exceptions as papers measured them, and forwarding; plots in build/suite (QUICK=1)
# make bench-vm  routers of bonded NICs, in an emulated machine: it shows that it works, no figures
# make figures   sixlane against the figures that it is to reach, into build/suite (QUICK=1)
# make results   both of these, and RESULTS.md and README's table from that (QUICK=1)
# make peers     libraries of lookups that `sixlane bench lookup` can measure beside sixlane, from the network
# make install   into PREFIX (/usr/local), with man pages and an example configuration
# make deps      the Debian or Ubuntu packages that the above need (they call it themselves)
#
# make CROSS=aarch64-linux-gnu- [SYSROOT=DIR] builds for arm64, into build-aarch64-linux-gnu: with the libraries
# of DIR, a Debian root of that architecture, or else with this system's own (libbpf-dev:arm64 ...).

SHELL := /bin/bash
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

VERSION := 0.1.0
PREFIX := /usr/local
DESTDIR :=

CROSS :=
SYSROOT :=
B := build$(patsubst %-,-%,$(CROSS))
CC := $(CROSS)gcc
AR := $(CROSS)ar
LD := $(CROSS)ld
OBJCOPY := $(CROSS)objcopy
CLANG := clang
PYTHON := /usr/bin/python3
HOST_ARCH := $(shell $(CC) -print-multiarch 2>/dev/null)
ifneq ($(SYSROOT),)
# Debian's cross compilers come with a C library of their own, which -B puts behind that of the root.
override CC += --sysroot=$(SYSROOT) -B$(SYSROOT)/usr/lib/$(HOST_ARCH)
endif

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Werror
DEFINES = -D_GNU_SOURCE -DSIXLANE_VERSION='"$(VERSION)"' \
	-DSIXLANE_KERNEL_READER_OBJECT='"$(B)/kernel_reader.bpf.o"' \
	-DSIXLANE_KERNEL_READER_PROBE_OBJECT='"$(B)/kernel_reader.probe.bpf.o"'
CFLAGS := -O2 -g
ALL_CFLAGS = -std=gnu11 $(DEFINES) $(WARN) $(CFLAGS) -MMD -MP
BPF_CFLAGS = -O2 -g -target bpf -mcpu=v3 $(filter-out -Wmissing-prototypes,$(WARN)) \
	$(addprefix --sysroot=,$(SYSROOT)) -I$(SYSROOT)/usr/include/$(HOST_ARCH) -MMD -MP
# Functions of tests have the parameters that cmocka or what they stand for says.
$(B)/obj/tests/%.o $(B)/asan/tests/%.o: WARN += -Wno-unused-parameter
SANITIZE := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

LIBS_sixlaned := -lmnl -lnftnl -lbpf -lxdp -lconfig
LIBS_sixlane := -lmnl -lnftnl -lbpf -lxdp -ljansson

# The sources of folders of user/. BPF programs are built apart.
src = $(filter-out %.bpf.c,$(wildcard $(addprefix user/,$(addsuffix /*.c,$(1)))))
COMMON_SRC := $(call src,lib netlink rib resolve compiled fib guard maps loader)
DAEMON_SRC := $(call src,daemon) $(COMMON_SRC)
CLI_SRC := $(call src,cli) $(COMMON_SRC)
OBJECTS := $(patsubst bpf/%.c,$(B)/%.o,$(wildcard bpf/*.bpf.c))
KERNEL_READERS := $(B)/kernel_reader.bpf.o $(B)/kernel_reader.probe.bpf.o
ENGINE := user/bench/engine
BENCH_OBJECTS := $(patsubst $(ENGINE)/%.bpf.c,$(B)/bench-%.bpf.o,$(wildcard $(ENGINE)/*.bpf.c))
UNIT_SRC := $(shell find tests/unit -name '*.c')
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)

obj = $(patsubst %.c,$(B)/obj/%.o,$(1))
asan_obj = $(patsubst %.c,$(B)/asan/%.o,$(1))

.PHONY: all
all: $(OBJECTS) $(BENCH_OBJECTS) $(B)/full-view.txt $(B)/sixlaned $(B)/sixlane $(B)/bench-lookup $(B)/bench-packets $(B)/harness

# A table of `sixlane bench`.
$(B)/full-view.txt: tests/data/full-view-v6.txt.xz
	@mkdir -p $(@D)
	@xz -dc $< >$@

# What a compiler for BPF has to show that a kernel takes.
.PHONY: objects
objects: $(OBJECTS) $(BENCH_OBJECTS) $(KERNEL_READERS) $(B)/bound.bpf.o

vpath %.bpf.c bpf user/daemon tests/bpf tests/vm
$(B)/%.bpf.o: %.bpf.c Makefile
	@mkdir -p $(@D)
	@echo "  BPF   $@"
	@$(CLANG) $(BPF_CFLAGS) -c $< -o $@

$(B)/bench-%.bpf.o: $(ENGINE)/%.bpf.c Makefile
	@mkdir -p $(@D)
	@echo "  BPF   $@"
	@$(CLANG) $(BPF_CFLAGS) -c $< -o $@

$(B)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@$(CC) $(ALL_CFLAGS) -c $< -o $@

# These carry objects within themselves.
$(B)/obj/user/daemon/kernel_reader.o $(B)/asan/user/daemon/kernel_reader.o: $(KERNEL_READERS)

$(B)/sixlaned: $(call obj,$(DAEMON_SRC))
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ $(LIBS_sixlaned)

$(B)/sixlane: $(call obj,$(CLI_SRC))
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ $(LIBS_sixlane)

# --- the harness ----------------------------------------------------------------------------

# `sixlane bench` executes it: what is here lies together where it is installed, too.
HARNESS := $(wildcard user/bench/*.py) tests/lab/lab.py tests/lab/netns.py
$(B)/harness: $(HARNESS) Makefile
	@rm -rf $@
	@mkdir -p $@
	@ln -s $(abspath $(HARNESS)) $@

$(B)/bench-lookup: $(call obj,$(addprefix $(ENGINE)/,lookup.c plan.c engine_bpf.c engine_compiled.c \
		engine_peer.c) $(COMMON_SRC))
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ $(LIBS_sixlaned) -ljansson -ldl -pthread

$(B)/bench-packets: $(call obj,$(addprefix $(ENGINE)/,packets.c packets_run.c plan.c))
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ -lbpf -ljansson -pthread

# Lookups are measured beside DPDK's only where that is installed. Its own flags choose its instructions.
$(B)/peer-dpdk.so: $(addprefix $(ENGINE)/,peer_dpdk.c peer.h)
	@echo "  CC    $@"
	@$(CC) -O2 -g -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -fPIC -shared $$(pkg-config --cflags libdpdk) -o $@ $< \
		-Wl,--as-needed -lrte_fib -lrte_rib -lrte_lpm -lrte_eal
ifeq ($(CROSS)$(shell pkg-config --exists libdpdk 2>/dev/null && echo yes),yes)
all: $(B)/peer-dpdk.so
endif

# Nor are other libraries needed, which are fetched and built only here, and not installed: see the script.
.PHONY: peers
peers:
	@$(ENGINE)/peers/build.sh $(B)

# --- tests ------------------------------------------------------------------------------

# Carries this file within itself.
$(B)/asan/tests/unit/netlink/messages.o: tests/unit/netlink/captures.txt

.SECONDARY:
$(B)/asan/%.o: %.c Makefile
	@mkdir -p $(@D)
	@echo "  ASAN  $<"
	@$(CC) $(ALL_CFLAGS) $(SANITIZE) -c $< -o $@

# Everything but the programs' main files, for a unit test to take what it calls.
$(B)/asan/libsixlane.a: $(call asan_obj,$(filter-out %/main.c,$(sort $(DAEMON_SRC) $(CLI_SRC))))
	@rm -f $@
	@$(AR) rcs $@ $^

# What tests of several folders share.
$(B)/asan/libunit.a: $(call asan_obj,$(filter-out tests/unit/unit.c $(foreach file,$(UNIT_SRC),$(if $(findstring /test_,$(file)),$(file))),$(UNIT_SRC)))
	@rm -f $@
	@$(AR) rcs $@ $^

# One program of unit tests a folder, build/unit/FOLDER. A file in alone/ replaces functions of sixlane: it is
# linked with what it tests into one object first, whose names are made its own, so that all others keep theirs.
UNIT_LIBRARIES := $(B)/asan/libunit.a $(B)/asan/libsixlane.a
define UNIT_PROGRAM
UNIT_PROGRAMS += $(B)/unit/$(1)
$(B)/unit/$(1): $(call asan_obj,$(wildcard tests/unit/$(1)/test_*.c)) \
	$(patsubst tests/unit/%.c,$(B)/alone/%.o,$(wildcard tests/unit/$(1)/alone/*.c))
endef
$(foreach folder,$(wildcard tests/unit/*/),$(eval $(call UNIT_PROGRAM,$(folder:tests/unit/%/=%))))

$(B)/alone/%.o: $(B)/asan/tests/unit/%.o $(UNIT_LIBRARIES)
	@mkdir -p $(@D)
	@$(LD) -r -o $@.whole $^
	@$(OBJCOPY) --keep-global-symbol=none $@.whole $@
	@rm $@.whole

$(UNIT_PROGRAMS): $(call asan_obj,tests/unit/unit.c) $(UNIT_LIBRARIES)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@$(CC) $(SANITIZE) -o $@ $(filter %.o,$^) $(UNIT_LIBRARIES) -lcmocka $(sort $(LIBS_sixlaned) $(LIBS_sixlane))

$(B)/fuzz/%: $(B)/asan/tests/fuzz/%.o $(UNIT_LIBRARIES)
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@$(CC) $(SANITIZE) -o $@ $^ -lmnl -lnftnl

# With what the daemon has to write to the maps, to compile routes as it does.
$(B)/test_bpf: $(call obj,$(filter-out %.bpf.c,$(wildcard tests/bpf/*.c)) $(COMMON_SRC)) | $(B)/agree.bpf.o $(B)/agree.arena.bpf.o
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ $(LIBS_sixlaned) -lcmocka -lpthread

# Loads objects, and tells what the verifier says of them.
$(B)/verify: $(B)/obj/tests/lab/verify.o
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ -lbpf -ljansson

# Prints what the guard reads, for end-to-end tests to compare with what happens to packets.
$(B)/guard_dump: $(call obj,tests/lab/guard_dump.c $(COMMON_SRC))
	@echo "  LINK  $@"
	@$(CC) $(CFLAGS) -o $@ $^ $(LIBS_sixlaned) -ljansson

# The kernel reader for end-to-end tests, which compare what it reads with what rtnetlink says.
READER_SRC := user/daemon/kernel_reader.c $(call src,lib netlink loader)
$(B)/kernel_reader.so: $(call obj,$(READER_SRC))
	@echo "  LINK  $@"
	@$(CC) $(filter-out -MMD -MP,$(ALL_CFLAGS)) -shared -fPIC -o $@ $(READER_SRC) $(LIBS_sixlaned)

# Puts the daemon's clock ahead, for tests of what lasts.
$(B)/clock_ahead.so: tests/lab/clock_ahead.c Makefile
	@mkdir -p $(@D)
	@echo "  CC    $@"
	@$(CC) $(ALL_CFLAGS) -shared -fPIC -o $@ $< -ldl

.PHONY: check-programs
check-programs: all $(UNIT_PROGRAMS) $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(FUZZ_SRC)) $(B)/test_bpf $(B)/guard_dump \
	$(B)/kernel_reader.so $(B)/clock_ahead.so

# Packages first, then a fresh make, which sees what they brought; on all CPUs unless this one was told how many.
FRESH = -s --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$$(nproc))
.PHONY: deps root demo test test-vm matrix release parity bench bench-vm figures results lint
deps:
	@tests/deps.sh build demo test test-vm matrix lint bench

root:
	@[ "$$(id -u)" = 0 ] || { echo "make $(MAKECMDGOALS) needs root (network namespaces, XDP): try sudo make $(MAKECMDGOALS)" >&2; exit 1; }

test: root
	@tests/deps.sh build test
	@$(MAKE) $(FRESH) check-programs
	@$(PYTHON) tests/run.py $(SUITE)

test-vm: root
	@tests/deps.sh build test-vm
	@$(MAKE) $(FRESH) check-programs
	@$(PYTHON) tests/vm/vm.py $(if $(KERNEL),--kernel $(KERNEL)) $(if $(ONLY),--only $(ONLY))

matrix: root
	@tests/deps.sh build matrix
	@$(MAKE) $(FRESH) $(B)/verify
	@$(PYTHON) tests/vm/matrix.py $(if $(QUICK),--quick) $(if $(KERNEL),--kernel $(KERNEL))

# As a new user of another Debian release would.
RELEASE := trixie
TARGETS := demo
release: root
	@tests/deps.sh build matrix
	@$(PYTHON) tests/vm/release.py $(RELEASE) $(TARGETS)

CONFIGURATIONS := 1000
PACKETS := 1000
parity: root
	@tests/deps.sh build test
	@$(MAKE) $(FRESH) all
	@$(PYTHON) tests/parity/parity.py --configurations $(CONFIGURATIONS) --packets $(PACKETS) \
		--jobs $$(nproc) $(if $(SEED),--seed $(SEED))

lint: root
	@tests/deps.sh build lint
	@$(MAKE) $(FRESH) all $(B)/verify
	@tests/lint.sh $(B)

demo: root
	@tests/deps.sh build demo
	@$(MAKE) $(FRESH) all
	@$(PYTHON) tests/demo/demo.py

# A measurement that fails or is interrupted ends it all.
RUN_SUITE = $(B)/sixlane bench suite $(if $(QUICK),--quick) --output $(B)/suite
bench figures results: root
	@tests/deps.sh build bench
	@$(MAKE) $(FRESH) all
	@$(RUN_SUITE) $(patsubst bench,papers,$(filter bench figures,$@))
	@[ $@ != results ] || $(PYTHON) user/bench/suite.py $(B)/suite

bench-vm: root
	@tests/deps.sh build bench test-vm
	@$(MAKE) $(FRESH) all
	@$(PYTHON) tests/vm/vm.py $(if $(KERNEL),--kernel $(KERNEL),--kernel 6.12) --nics 8 --queues 8 \
		--share $(B)/bench-vm -- tests/vm/bench_nic.sh /run/sixlane-vm

.PHONY: install clean
install: all
	install -D -m 755 $(B)/sixlaned $(DESTDIR)$(PREFIX)/sbin/sixlaned
	install -D -m 755 $(B)/sixlane $(DESTDIR)$(PREFIX)/sbin/sixlane
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/lib/sixlane $(OBJECTS)
	install -m 644 -t $(DESTDIR)$(PREFIX)/lib/sixlane $(BENCH_OBJECTS) $(B)/full-view.txt
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man8 $(wildcard user/*/*.8)
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man5 $(wildcard user/*/*.5)
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/doc/sixlane configs/sixlaned.conf configs/nftables.conf
	install -m 755 -t $(DESTDIR)$(PREFIX)/lib/sixlane $(B)/bench-lookup $(B)/bench-packets $(wildcard $(B)/peer-*.so)
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/lib/sixlane/harness $(HARNESS)
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's#@PREFIX@#$(PREFIX)#' configs/sixlaned.service >$(DESTDIR)$(PREFIX)/lib/systemd/system/sixlaned.service

clean:
	rm -rf $(B)


-include $(shell find $(B) -name '*.d' 2>/dev/null)
