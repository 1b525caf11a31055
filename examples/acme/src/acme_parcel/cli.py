"""The ``acme-parcel`` command. It talks to the HTTP API, never to the database."""

from __future__ import annotations

import argparse
import json
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any

from . import __version__
from .tracking import InvalidTrackingNumber, detect_carrier, normalize_tracking_no

EXIT_OK, EXIT_USAGE, EXIT_NOT_FOUND, EXIT_UNAVAILABLE, EXIT_CONFIG = 0, 2, 3, 4, 5


class ConfigError(Exception):
    """A required setting is missing."""


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="acme-parcel")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True)

    normalize = commands.add_parser("normalize", help="print canonical tracking numbers")
    normalize.add_argument("number", nargs="+")

    track = commands.add_parser("track", help="show one parcel")
    track.add_argument("number")
    track.add_argument("--json", action="store_true")

    webhooks = commands.add_parser("webhooks").add_subparsers(dest="action", required=True)
    replay = webhooks.add_parser("replay", help="put dead events back into the queue")
    replay.add_argument("--carrier", required=True)
    replay.add_argument("--since", default="1h", help="age such as 30m, 6h or 2d")
    replay.add_argument("--limit", type=int, default=500)
    replay.add_argument("--dry-run", action="store_true")

    labels = commands.add_parser("labels").add_subparsers(dest="action", required=True)
    prints = labels.add_parser("print", help="print the label of a shipment")
    prints.add_argument("shipment_id")
    prints.add_argument("--reason", help="required for a reprint")
    prints.add_argument("--dry-run", action="store_true")

    outbox = commands.add_parser("outbox").add_subparsers(dest="action", required=True)
    drain = outbox.add_parser("drain", help="publish waiting notifications now")
    drain.add_argument("--batch-size", type=int, default=100)
    drain.add_argument("--dry-run", action="store_true")
    return parser


def parse_age(text: str) -> int:
    """Seconds in an age such as ``30m``; raises ValueError otherwise."""
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    if len(text) < 2 or text[-1] not in units or not text[:-1].isdecimal():
        raise ValueError(f"not an age: {text!r} (use 30m, 6h or 2d)")
    return int(text[:-1]) * units[text[-1]]


def call_api(method: str, path: str, payload: dict[str, Any] | None = None) -> Any:
    try:
        base, key = os.environ["ACME_API_URL"], os.environ["ACME_API_KEY"]
    except KeyError as exc:
        raise ConfigError(f"{exc.args[0]} is not set") from exc
    request = urllib.request.Request(
        base.rstrip("/") + path,
        method=method,
        data=None if payload is None else json.dumps(payload).encode(),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


def run(args: argparse.Namespace) -> int:
    if args.command == "normalize":
        for raw in args.number:
            number = normalize_tracking_no(raw)
            print(f"{number}\t{detect_carrier(number) or 'unknown'}")
        return EXIT_OK
    if args.command == "track":
        parcel = call_api("GET", f"/v1/parcels/{normalize_tracking_no(args.number)}")
        text = json.dumps(parcel) if args.json else f"{parcel['status']} {parcel['updated_at']}"
        print(text)
        return EXIT_OK
    if args.command == "webhooks":
        payload = {
            "carrier": args.carrier,
            "since_s": parse_age(args.since),
            "limit": args.limit,
            "dry_run": args.dry_run,
        }
        path = "/v1/admin/webhooks/replay"
    elif args.command == "labels":
        payload = {"reason": args.reason, "dry_run": args.dry_run}
        path = f"/v1/labels/{args.shipment_id}/print"
    else:
        payload = {"batch_size": args.batch_size, "dry_run": args.dry_run}
        path = "/v1/admin/outbox/drain"
    print(json.dumps(call_api("POST", path, payload), indent=2))
    return EXIT_OK


def main(argv: Sequence[str] | None = None) -> int:
    args = build_parser().parse_args(argv)
    try:
        return run(args)
    except ConfigError as exc:
        print(f"configuration: {exc}", file=sys.stderr)
        return EXIT_CONFIG
    except (InvalidTrackingNumber, ValueError) as exc:
        print(f"usage: {exc}", file=sys.stderr)
        return EXIT_USAGE
    except urllib.error.HTTPError as exc:
        print(f"HTTP {exc.code}: {exc.read().decode(errors='replace')}", file=sys.stderr)
        return EXIT_NOT_FOUND if exc.code == 404 else EXIT_UNAVAILABLE
    except urllib.error.URLError as exc:
        print(f"unreachable: {exc.reason}", file=sys.stderr)
        return EXIT_UNAVAILABLE


if __name__ == "__main__":
    raise SystemExit(main())
