# SPDX-License-Identifier: GPL-2.0-only
"""TRex profile: the SYN flood of Wang's experiment (netdev 2017), over IPv6.

    start -f sixlane_syn.py -m 100% -p 0 2 -t --dst 2001:db8:d::80

TCP SYNs of 78 bytes, the shortest there are over IPv6, to port 80 of one host, or of destinations
chosen as in sixlane_udp.py. Source address, source port and sequence number are random.
"""

import sixlane_stream
import sixlane_tunables


class SixlaneSyn:
    def get_streams(self, port_id, tunables, **_kwargs):
        parser = sixlane_tunables.parser(
            __doc__.split("\n", 1)[0], src="2001:db8:f::/48", dst="2001:db8:d::80", size="78",
            flows=sixlane_tunables.PORTS,
        )  # fmt: skip
        return sixlane_stream.streams("tcp", parser.parse_args(tunables), port_id)


def register():
    return SixlaneSyn()
