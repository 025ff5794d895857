"""A state machine session that was opened in a project before its server."""

from muster.cli.delegate import sessions
from muster.cli.render import clean
from muster.cli.saying import say
from muster.delegation.session_folder import SESSIONS_FOLDER, has_session
from muster.delegation.taking_over import take_over
from muster.delegation.visiting import visited
from muster.machines.ids import person
from muster.settings.model import Settings
from muster.team import Muster


async def continue_session(muster: Muster, settings: Settings) -> None:
    """Continue the session that is open in the server's project in the server, and say so."""
    project = muster.requests.project
    root = sessions.last(project)
    if root is None or root.parent != project / SESSIONS_FOLDER or not has_session(root):
        return  # a folder that a person chose stays the session's
    actor = person(settings.team.human)
    log_provider, _ = visited(root, settings)
    taken = await take_over(muster.requests, muster.team, log_provider, actor=actor)
    if taken is None:
        said = f"The session in {root} has a log of its own, and is not in the dashboard."
        say(clean(said), err=True)
        return
    sessions.forget(root, project)
    say(clean(f"The open session goes on here, in {taken.path}. Before: {taken.before}."))
