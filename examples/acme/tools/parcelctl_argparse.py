"""parcelctl: manage parcels and labels (argparse version)."""
import argparse
import sys

EPILOG = """examples:
  parcelctl labels print P-1001 --copies 2
  parcelctl parcels list --status held
"""


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="parcelctl",
        description="Manage parcels and shipping labels.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="print more detail")
    parser.add_argument("--profile", default="default", metavar="NAME", help="configuration profile (default: %(default)s)")
    top = parser.add_subparsers(dest="resource", required=True, title="resources")

    labels = top.add_parser("labels", help="work with shipping labels")
    labels_sub = labels.add_subparsers(dest="action", required=True)
    p = labels_sub.add_parser("print", help="print the label of a parcel", epilog="The printer must be online.")
    p.add_argument("parcel_id", help="id of the parcel")
    p.add_argument("-c", "--copies", type=int, default=1, help="number of copies")
    p.add_argument("--format", choices=["pdf", "zpl"], default="pdf", help="label format")
    p = labels_sub.add_parser("void", help="void a label that was not used")
    p.add_argument("label_id", help="id of the label")
    p.add_argument("--reason", required=True, help="why the label is voided")

    parcels = top.add_parser("parcels", help="work with parcels")
    parcels_sub = parcels.add_subparsers(dest="action", required=True)
    p = parcels_sub.add_parser("list", help="list parcels")
    p.add_argument("--status", choices=["open", "held", "sent"], help="only parcels in this state")
    p.add_argument("--limit", type=int, default=50, help="at most this many")
    p = parcels_sub.add_parser("track", help="show where a parcel is")
    p.add_argument("parcel_id", help="id of the parcel")
    p.add_argument("--follow", action="store_true", help="keep watching for changes")

    top.add_parser("version", help="print the version and exit")
    return parser


def main(argv=None) -> int:
    args = build_parser().parse_args(argv)
    print(args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
