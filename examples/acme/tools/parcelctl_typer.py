"""parcelctl: manage pickups and routes (typer version)."""
from typing import Annotated, Optional

import typer

app = typer.Typer(name="parcelctl", help="Manage pickups and routes.")
routes_app = typer.Typer(help="Work with delivery routes.")
app.add_typer(routes_app, name="routes")


@app.command()
def pickup(
    address: Annotated[str, typer.Argument(help="Where to collect the parcels.")],
    day: Annotated[Optional[str], typer.Option("--day", "-d", help="Day of the pickup.")] = None,
    count: Annotated[int, typer.Option(min=1, help="Number of parcels.")] = 1,
) -> None:
    """Order a pickup at an address."""
    typer.echo(f"{address} {day} {count}")


@app.command(name="cancel-pickup")
def cancel(
    pickup_id: Annotated[str, typer.Argument(help="Id of the pickup.")],
    force: Annotated[bool, typer.Option("--force", help="Do not ask for confirmation.")] = False,
) -> None:
    """Cancel a pickup that has not started."""
    typer.echo(f"{pickup_id} {force}")


@routes_app.command("list")
def list_routes(
    depot: Annotated[str, typer.Option(help="Only routes of this depot.")] = "all",
) -> None:
    """List the planned routes."""
    typer.echo(depot)


@routes_app.command()
def add_stop(
    route_id: Annotated[str, typer.Argument(help="Id of the route.")],
    address: Annotated[str, typer.Argument(help="Address of the stop.")],
    position: Annotated[int, typer.Option("--position", "-p", help="Place in the route.")] = -1,
) -> None:
    """Add a stop to a route."""
    typer.echo(f"{route_id} {address} {position}")


if __name__ == "__main__":
    app()
