// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
module peer-bart

go 1.24.0

require github.com/gaissmai/bart v0.30.0
