"""Measurements of `perfprobe bench` that belong to a recording."""

from __future__ import annotations

import os

from perfprobe.models.verdicts import KINDS
from perfprobe.support.errors import InputError
from perfprobe.tables import measured_file
from perfprobe.tables.events import Losses
from perfprobe.tables.measurements import Measurements
from perfprobe.tables.recording import Recording


def measurements(recording: Recording) -> tuple[Measurements | None, list[Losses]]:
    """The measurements that `perfprobe bench` wrote beside the recording, or why they cannot be used."""
    path = measured_file.beside(recording.path)
    if not os.path.exists(path):
        return None, []
    try:
        return measured_file.read(path, measured_file.identity(recording), KINDS), []
    except InputError as error:
        return None, [Losses.unread("bench", error)]
