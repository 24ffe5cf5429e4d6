# SPDX-License-Identifier: GPL-2.0-only
"""TRex profile: IPv6 UDP to random destinations, to those of a table, beside it, or in one flow.

    start -f sixlane_udp.py -m 10mpps -p 0 -t --size 128 --prefixes full-view.txt

Which bits of a destination vary: with --dst, all behind that prefix; with --prefixes, one address
for each prefix is drawn as far as its 64th bit, and the lower 64 bits are drawn for every packet
(prefixes longer than 64: one address each). Flows differ in their source port.
"""

import sixlane_stream
import sixlane_tunables


class SixlaneUdp:
    def get_streams(self, port_id, tunables, **_kwargs):
        parser = sixlane_tunables.parser(
            __doc__.split("\n", 1)[0], src="2001:db8:f::2", dst="2000::/3", size="66", flows=4096
        )
        return sixlane_stream.streams("udp", parser.parse_args(tunables), port_id)


def register():
    return SixlaneUdp()
