# SPDX-License-Identifier: GPL-2.0-only
# make           the XDP object, the daemon and the CLI, into build/
# make demo      the whole router on this machine, with a full IPv6 table
# make test      every test this kernel can run
# make lint      formatting, static analysis, verifier budget
# make bench     the figures of the README
# make deps      install the Debian or Ubuntu packages that are missing (part of demo, test, lint, bench)

SHELL := /bin/bash
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

B := build
CC := gcc
CLANG := clang
HOST_ARCH = $(shell $(CC) -print-multiarch)
PYTHON := /usr/bin/python3

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Werror
CFLAGS := -O2 -g
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE $(WARN) $(CFLAGS) -MMD -MP
BPF_CFLAGS = -O2 -g -target bpf -mcpu=v3 -Wall -Wextra -Wshadow -Werror -I/usr/include/$(HOST_ARCH) -MMD -MP

LIBS_sixlaned := -lmnl -lbpf -lxdp -lconfig
LIBS_sixlane := -lmnl -lbpf -lxdp -ljansson

PURE_SRC := $(wildcard user/rib/*.c) user/netlink/parse.c user/fib/resolve.c user/fib/fib.c user/log.c
COMMON_SRC := $(PURE_SRC) user/netlink/socket.c user/fib/maps.c user/loader.c
DAEMON_SRC := user/sixlaned.c user/config.c $(wildcard user/sync/*.c) $(COMMON_SRC)
CLI_SRC := user/sixlane.c $(wildcard user/cmd_*.c) $(COMMON_SRC)

obj = $(patsubst %.c,$(B)/obj/%.o,$(1))

.PHONY: all
all: $(B)/sixlane.bpf.o $(B)/sixlaned $(B)/sixlane

$(B)/sixlane.bpf.o: bpf/sixlane.bpf.c
	@mkdir -p $(@D)
	$(CLANG) $(BPF_CFLAGS) -c $< -o $@
	@llvm-strip -g $@

$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c $< -o $@

$(B)/sixlaned: $(call obj,$(DAEMON_SRC))
	$(CC) $(CFLAGS) -o $@ $^ $(LIBS_sixlaned)

$(B)/sixlane: $(call obj,$(CLI_SRC))
	$(CC) $(CFLAGS) -o $@ $^ $(LIBS_sixlane)

.PHONY: clean
clean:
	rm -rf $(B)

-include $(shell find $(B) -name '*.d' 2>/dev/null)
