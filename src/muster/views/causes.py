"""What an event came of, for those who tell why: its cause, or what it is the answer to."""

from muster.machines.events import ApprovalAnswered, Event


def cause_of(event: Event) -> int | None:
    """The seq of the event that this one came of; nothing where it came from outside.

    A person who answers acts by themselves, so their answer has no cause. It is told with the
    request, which is named by its own place in the log.
    """
    if event.cause is None and isinstance(event.fact, ApprovalAnswered):
        return int(event.fact.approval)
    return event.cause
