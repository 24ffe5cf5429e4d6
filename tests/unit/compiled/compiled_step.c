// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stores one by one, of compiled_step.h: a store to read-only memory faults; its page becomes
 * writable and the trap flag is set, with which the CPU traps after the very next instruction;
 * then the page is read-only again. An instruction that writes to two pages faults once for each.
 */
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "compiled_step.h"

#define PAGE_BYTES 4096u
#define TRAP_FLAG 0x100

static struct {
	uint8_t *region;
	size_t bytes;
	void (*written)(void *ctx);
	void *ctx;
	unsigned long stores;
	void *open[2]; /* pages that are writable */
	size_t n_open;
	struct sigaction segv, trap; /* as they were before */
} step;

static void let_through(int signal, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;
	ucontext_t *user = context;

	if (at - (uintptr_t)step.region >= step.bytes || step.n_open == 2) {
		/* Not ours: once more, with the handler that was there before. */
		sigaction(SIGSEGV, &step.segv, NULL);
		return;
	}
	step.open[step.n_open] = (void *)(at & ~(uintptr_t)(PAGE_BYTES - 1));
	mprotect(step.open[step.n_open++], PAGE_BYTES, PROT_READ | PROT_WRITE);
	user->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void after_store(int signal, siginfo_t *info, void *context)
{
	ucontext_t *user = context;

	user->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
	while (step.n_open)
		mprotect(step.open[--step.n_open], PAGE_BYTES, PROT_READ);
	step.stores++;
	step.written(step.ctx);
}

void compiled_step_begin(void *region, size_t bytes, void (*written)(void *ctx), void *ctx)
{
	struct sigaction action = { .sa_sigaction = let_through, .sa_flags = SA_SIGINFO };

	step.region = region;
	step.bytes = bytes;
	step.written = written;
	step.ctx = ctx;
	step.stores = 0;
	sigaction(SIGSEGV, &action, &step.segv);
	action.sa_sigaction = after_store;
	sigaction(SIGTRAP, &action, &step.trap);
	mprotect(region, bytes, PROT_READ);
}

unsigned long compiled_step_end(void)
{
	mprotect(step.region, step.bytes, PROT_READ | PROT_WRITE);
	sigaction(SIGSEGV, &step.segv, NULL);
	sigaction(SIGTRAP, &step.trap, NULL);
	return step.stores;
}
