#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# mrtparse: prefixes of an UPDATE with bits behind a prefix's length become other prefixes, with path identifiers.
#
# Versions: mrtparse 2.2.0 of PyPI, and python3-mrtparse 1.6-3 of Debian 12; bgpdump 1.6.2-2 of Debian 12 as the other
#	way.
# Expected: the two prefixes of the message, 2000:1030:8000::/33 and 2001:db8::/32. The bits that fill an NLRI's last
#	byte have no meaning (RFC 4271, 4.3); and the record's type, BGP4MP_MESSAGE_AS4, says that there are no path
#	identifiers (RFC 8050).
# Seen: both versions report one prefix, ff20:2001:db8::/48, with the path identifier 555745296, and no error. bgpdump
#	reports two prefixes. Without the bits behind the /33 all agree.
# Reason: Base.val_nlri() takes a prefix with such bits, or one that comes twice, as a sign of ADD-PATH, and decodes the
#	same bytes again.
# Needs python3 with pip, and apt-get with Debian 12's packages.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip -q install --disable-pip-version-check --root-user-action=ignore --target "$folder/2" mrtparse==2.2.0
(cd "$folder" && apt-get -qq -o APT::Sandbox::User=root download python3-mrtparse=1.6-3 bgpdump=1.6.2-2)
for package in "$folder"/*.deb; do dpkg-deb -x "$package" "$folder"; done
cat >"$folder/write.py" <<'PY'
import struct
import sys

nlri = bytes.fromhex("2120001030" + sys.argv[2] + "2020010db8")  # 2000:1030:..00::/33 and 2001:db8::/32
reach = b"\0\2\1\x10" + bytes(16) + b"\0" + nlri
attributes = bytes.fromhex("40010100" "40020602010000fbf1") + bytes([0x80, 14, len(reach)]) + reach
update = b"\xff" * 16 + struct.pack(">HBHH", 23 + len(attributes), 2, 0, len(attributes)) + attributes
record = struct.pack(">IIHH", 64497, 64496, 0, 2) + bytes(32) + update
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack(">IHHI", 0, 16, 4, len(record)) + record)  # BGP4MP, BGP4MP_MESSAGE_AS4
PY
cat >"$folder/read.py" <<'PY'
import sys

import mrtparse

for record in mrtparse.Reader(sys.argv[1]):
    if mrtparse.__version__ == "1.6":
        (found,) = [each.mp_reach for each in record.mrt.bgp.msg.attr if each.type == 14]
        print(record.mrt.err, ["%s/%d" % (each.prefix, each.plen) for each in found["nlri"]])
    else:
        (found,) = [each["value"] for each in record.data["bgp_message"]["path_attributes"] if 14 in each["type"]]
        print(record.err, ["%s/%d" % (each["prefix"], each["length"]) for each in found["nlri"]])
PY
tell() { # BYTE: the last one of the /33
	python3 "$folder/write.py" "$folder/updates" "$1"
	echo "2.2.0: $(PYTHONPATH=$folder/2 python3 "$folder/read.py" "$folder/updates")"
	echo "1.6: $(PYTHONPATH=$folder/usr/lib/python3/dist-packages python3 "$folder/read.py" "$folder/updates")"
	echo "bgpdump: $("$folder/usr/bin/bgpdump" -m "$folder/updates" 2>/dev/null | cut -d'|' -f6 | xargs)"
}
with=$(tell ff) without=$(tell 80)
printf 'with bits behind the /33:\n%s\nwithout:\n%s\n' "$with" "$without"
[ "$with" = "2.2.0: None ['ff20:2001:db8::/48']
1.6: None ['ff20:2001:db8::/48']
bgpdump: 2000:1030:ff00::/33 2001:db8::/32" ] && [ "$without" = "2.2.0: None ['2000:1030:8000::/33', '2001:db8::/32']
1.6: None ['2000:1030:8000::/33', '2001:db8::/32']
bgpdump: 2000:1030:8000::/33 2001:db8::/32" ]
