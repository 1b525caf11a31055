"""parcelctl: manage parcels and depots (click version)."""
import click


@click.group(name="parcelctl")
@click.option("-v", "--verbose", is_flag=True, help="Print more detail.")
@click.pass_context
def cli(ctx, verbose):
    """Manage parcels and depots."""
    ctx.obj = {"verbose": verbose}


@cli.group(name="depots")
def depots():
    """Work with depots."""


@depots.command(name="list")
@click.option("--country", default="DE", show_default=True, help="Two-letter country code.")
def list_depots(country):
    """List the depots in a country."""
    click.echo(country)


@depots.command(name="show")
@click.argument("depot_id")
@click.option("--hours/--no-hours", default=True, help="Include the opening hours.")
def show_depot(depot_id, hours):
    """Show one depot."""
    click.echo(f"{depot_id} {hours}")


@click.command(name="ship")
@click.argument("parcel_ids", nargs=-1, required=True)
@click.option("--service", type=click.Choice(["standard", "express"]), default="standard", help="Level of service.")
@click.option("--dry-run", is_flag=True, help="Show what would be shipped.")
def ship_parcels(parcel_ids, service, dry_run):
    """Hand parcels over to the carrier."""
    click.echo(f"{parcel_ids} {service} {dry_run}")


@cli.command(name="quote", help="Ask for the price of a parcel.", epilog="Prices are valid for one day.")
@click.argument("weight", type=float)
@click.option("--to", "destination", required=True, metavar="POSTCODE", help="Destination postcode.")
def quote(weight, destination):
    click.echo(f"{weight} {destination}")


cli.add_command(ship_parcels)

if __name__ == "__main__":
    cli()
