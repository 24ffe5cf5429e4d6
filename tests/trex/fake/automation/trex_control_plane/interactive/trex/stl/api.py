# SPDX-License-Identifier: GPL-2.0-only
"""A stand-in for the module of this name that TRex brings: only what this project uses of it."""

from .client import STLClient, TRexError
from .packets import (
    CTRexPacketBuildException,
    CTRexVmInsFixHwCs,
    STLPktBuilder,
    STLScVmRaw,
    STLVmFixChecksumHw,
    STLVmFlowVar,
    STLVmWrFlowVar,
    STLVmWrMaskFlowVar,
)
from .streams import STLFlowLatencyStats, STLFlowStats, STLStream, STLTXCont, STLTXSingleBurst

STLError = TRexError

__all__ = [
    "CTRexPacketBuildException", "CTRexVmInsFixHwCs", "STLClient", "STLError", "STLFlowLatencyStats",
    "STLFlowStats", "STLPktBuilder", "STLScVmRaw", "STLStream", "STLTXCont", "STLTXSingleBurst",
    "STLVmFixChecksumHw", "STLVmFlowVar", "STLVmWrFlowVar", "STLVmWrMaskFlowVar", "TRexError",
]  # fmt: skip
