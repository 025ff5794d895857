"""The control requests (ioctl) of filesystems, by class: which ones a confined command may make.

A request has the type of its driver in its second byte. A filesystem takes requests from whoever
can open a file of it for reading, and many act on the whole filesystem: they freeze it, shut it
down, resize it, or make snapshots. So of their types only the requests that read are allowed,
copies that share blocks, and changes of inode flags where metadata may be changed. The requests of
devices are Landlock's matter.
"""

from __future__ import annotations

from muster.confine.bpf import CallRules, argument_at

_EPERM = 1

_TYPE = 0xFF00
_TYPES = (
    *(0x66, 0x58, 0x76),  # f: ext4 and flags; X: XFS, freezing, trimming; v: versions
    *(0x94, 0xF5, 0xBC, 0x97, 0xCF),  # Btrfs, F2FS, bcachefs, Ceph, CIFS
    *(0x6E, 0x6F, 0x72),  # n: NILFS; o: OCFS2; r: FAT
)
_READING = (
    *(0x80086601, 0x80046601, 0x801C581F),  # GETFLAGS, FSGETXATTR
    *(0x80087601, 0x80047601, 0x81009431),  # GETVERSION, GETFSLABEL
    *(0xC020660B, 0xC0046686),  # FIEMAP, MEASURE_VERITY
    *(0x8400941F, 0xD0009412),  # of Btrfs: FS_INFO, INO_LOOKUP
    *(0x80047210, 0x80047213),  # of FAT: GET_ATTRIBUTES, GET_VOLUME_ID
)
_SHARING_BLOCKS = (0x40049409, 0x4020940D, 0xC0189436)
"""FICLONE, FICLONERANGE, FIDEDUPERANGE: they write to a file that is open for writing."""

_INODE_FLAGS = (
    *(0x40086602, 0x40046602, 0x401C5820),  # SETFLAGS, FSSETXATTR
    *(0x40087602, 0x40047602, 0x40047211),  # SETVERSION, FAT_IOCTL_SET_ATTRIBUTES
)
_TERMINAL = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX


def control_rules(*, metadata: bool) -> CallRules:
    """The rules of the system call ioctl."""
    block = CallRules(_EPERM)
    block.load(argument_at(1))
    for request in _TERMINAL:
        block.refuse_if(request)
    for request in _READING + _SHARING_BLOCKS + (_INODE_FLAGS if metadata else ()):
        block.allow_if(request)
    block.load(argument_at(1), mask=_TYPE)
    for kind in _TYPES:
        block.refuse_if(kind << 8)
    return block
