"""Label rendering and printing.

Labels are ZPL for thermal printers (4 x 6 inch, 203 dpi). The text format exists
for previews. There is no PDF renderer yet: see PRPs/executed/001--label-printing.md.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from urllib.parse import urlsplit

from .retry import RetryableError, RetryBudgetExceeded, RetryPolicy, retry_call
from .tracking import normalize_tracking_no


class LabelFormat(str, Enum):
    ZPL = "zpl"
    TEXT = "text"


class PrinterUnavailable(Exception):
    """Maps to HTTP 503 ``printer_unavailable``. There is no second printer."""


@dataclass(frozen=True)
class Shipment:
    shipment_id: str
    tracking_no: str
    recipient: str
    address_lines: tuple[str, ...]
    service: str


def escape_zpl(text: str) -> str:
    """Escape the two ZPL command characters for a ``^FH_`` field."""
    return text.replace("_", "_5F").replace("^", "_5E").replace("~", "_7E")


def render_zpl(shipment: Shipment) -> str:
    """Render one 4 x 6 label; the barcode is Code 128 of the canonical number."""
    number = normalize_tracking_no(shipment.tracking_no)
    lines = ["^XA", "^CI28", "^PW812", "^LL1218"]
    y = 60
    for line in (shipment.recipient, *shipment.address_lines):
        lines.append(f"^FO50,{y}^A0N,40,40^FH_^FD{escape_zpl(line)}^FS")
        y += 55
    lines.append(f"^FO50,{y + 40}^A0N,30,30^FH_^FD{escape_zpl(shipment.service)}^FS")
    lines.append(f"^FO50,800^BY3^BCN,200,Y,N,N^FD{number}^FS")
    lines.append("^XZ")
    return "\n".join(lines) + "\n"


def render_text(shipment: Shipment) -> str:
    """A preview that a person can read, used by ``--dry-run``."""
    number = normalize_tracking_no(shipment.tracking_no)
    body = "\n".join((shipment.recipient, *shipment.address_lines))
    return f"[{shipment.service}] {number}\n{body}\n"


_RENDERERS: dict[LabelFormat, Callable[[Shipment], str]] = {
    LabelFormat.ZPL: render_zpl,
    LabelFormat.TEXT: render_text,
}


def render_label(shipment: Shipment, fmt: LabelFormat) -> str:
    return _RENDERERS[fmt](shipment)


def send_to_printer(zpl: str, url: str, *, timeout_s: float = 4.0) -> None:
    """Write raw ZPL to a printer such as ``tcp://printer-2.dock:9100``."""
    target = urlsplit(url)
    if target.scheme != "tcp" or not target.hostname or not target.port:
        raise ValueError(f"LABEL_PRINTER_URL must be tcp://host:port, got {url!r}")
    try:
        with socket.create_connection((target.hostname, target.port), timeout_s) as conn:
            conn.sendall(zpl.encode("utf-8"))
    except OSError as exc:
        raise RetryableError(f"printer {target.hostname}: {exc}") from exc


def print_label(shipment: Shipment, *, dry_run: bool = False) -> str:
    """Print one label and return what was sent (or would be sent).

    Retries for 20 seconds, then raises PrinterUnavailable. A label is never
    redirected to another printer: the packer would not find it.
    """
    if dry_run:
        return render_text(shipment)
    zpl = render_zpl(shipment)
    url = os.environ["LABEL_PRINTER_URL"]
    policy = RetryPolicy(base_s=0.5, cap_s=5.0, max_elapsed_s=20.0)
    try:
        retry_call(lambda: send_to_printer(zpl, url), policy)
    except RetryBudgetExceeded as exc:
        raise PrinterUnavailable(f"shipment {shipment.shipment_id}: {exc}") from exc
    return zpl
