"""The saved chats of a folder: list them, find one by number or id, show, delete, or export a chain as one document."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import orjson

from leftoff.conversations import chat_file, index, names, reading
from leftoff.conversations import summary as summaries
from leftoff.conversations.index import Listed, Shelf
from leftoff.conversations.reading import Saved
from leftoff.conversations.values import Header
from leftoff.errors import AmbiguousSessionError, DocumentError, NotFoundError, StorageError
from leftoff.flows.chat_session import ChatPlace
from leftoff.model import markdown
from leftoff.model.wire import SCHEMAS, JsonObject, upgraded
from leftoff.system import clock, files, ids, paths

LATEST = "latest"
_NUMBERS = "last-chats.json"
_LARGEST_NUMBERS_BYTES = 16 * 1024 * 1024


def chats_in(place: ChatPlace) -> Shelf:
    """All of them, newest first, and what could not be read."""
    return index.listed(place.folder)


def remember_shown(place: ChatPlace, chats: Sequence[Listed]) -> None:
    """Bind the numbers to this list, so that ``2`` means what was seen; where that cannot be kept, numbers count anew."""
    shown = {
        "schema": SCHEMAS["last_chats"],
        "folder": str(place.folder),
        "chats": [each.session_id for each in chats],
    }
    try:
        files.write_file(paths.state_folder() / _NUMBERS, orjson.dumps(shown))
    except StorageError:
        return


def last_shown(place: ChatPlace) -> list[str] | None:
    """The ids of the list last shown here, on any face; None when none was."""
    said = _last_list()
    chats = said.get("chats")
    if said.get("folder") == str(place.folder) and isinstance(chats, list):
        return [str(each) for each in chats]
    return None


def last_folder() -> set[str]:
    """The folder of the list last shown, which no setting need name; none when none was."""
    folder = _last_list().get("folder")
    return {folder} if isinstance(folder, str) and Path(folder).is_absolute() else set()


def _last_list() -> JsonObject:
    told = files.read_plain(paths.state_folder() / _NUMBERS, _LARGEST_NUMBERS_BYTES)
    try:
        return upgraded("last_chats", orjson.loads(told or b"{}"), where=_NUMBERS)
    except ValueError:
        return {}


def resolve(place: ChatPlace, words: str, shown: Sequence[str] | None) -> Listed:
    """The chat that a number, an id, the beginning of one, or ``latest`` names.

    A number is that of the list ``shown`` last; without one, of the list as it is now. A whole id means itself and no other.
    """
    chats = {each.session_id: each for each in chats_in(place).chats}
    if words == LATEST and chats:
        return next(iter(chats.values()))
    if words in chats:
        return chats[words]
    if words.isdecimal():
        numbered = [*chats] if shown is None else shown
        if not 1 <= int(words) <= len(numbered) or numbered[int(words) - 1] not in chats:
            raise _missing(words)
        return chats[numbered[int(words) - 1]]
    return chats[_beginning_with(ids.checked(words), [*chats])]


def require_whole(words: str, found: Listed) -> None:
    """For what cannot be taken back the beginning of an id is not enough: it may be that of another chat by now."""
    if words not in {found.session_id, LATEST} and not words.isdecimal():
        raise NotFoundError(
            f"There is no saved session {words}. One begins so: {found.session_id}. Say the whole id, or its number."
        )


def _beginning_with(words: str, session_ids: Sequence[str]) -> str:
    matching = [] if names.looks_like_id(words) else [each for each in session_ids if each.startswith(words)]
    if len(matching) > 1:
        raise AmbiguousSessionError(f"{words}: {len(matching)} chats begin so: {', '.join(matching[:4])}.")
    if not matching:
        raise _missing(words)
    return matching[0]


def text_of(listed: Listed) -> str:
    """The page of a chat, whole."""
    return chat_file.read_text(listed.path)


def saved_in(listed: Listed) -> Saved:
    """The same, read."""
    return saved_at(listed.path)


def saved_at(path: Path) -> Saved:
    """The chat in a file, which may stand anywhere."""
    return reading.read(chat_file.read_text(path), path.stem, where=str(path))


def summary_at(path: Path) -> str | None:
    """The summary in a file, which may be any Markdown; None when there is none."""
    return summaries.find(chat_file.read_text(path)).text


def save_markdown(place: ChatPlace, session_id: str, text: str, summary: str | None) -> Path:
    """Write a page that somebody else made, with its summary; one that stands there already is never erased."""
    path = paths.inside(place.folder, ids.checked(session_id) + chat_file.SUFFIX)
    if place.folder.is_relative_to(place.project.folder):
        paths.make_project_folder(place.project)
    chat_file.write_text(path, place.clean(text), summary if summary is None else place.clean(summary))
    place.register.note_written(path, session_id, clock.now())
    return path


def delete(listed: Listed) -> None:
    """Take it away for good; chats that went on from it keep their own words."""
    chat_file.delete(listed.path)


def export(place: ChatPlace, listed: Listed) -> str:
    """The chat and all it goes back to, oldest first, as one document; an ancestor that is gone is named as missing."""
    chats = {each.session_id: each for each in chats_in(place).chats}
    chain: list[Listed] = []
    missing: str | None = None
    wanted: str | None = listed.session_id
    while wanted is not None and wanted not in {each.session_id for each in chain}:
        found = chats.get(wanted)
        if found is None:
            missing = wanted
            break
        chain.insert(0, found)
        wanted = found.resumed_from
    parts = [f"# {listed.agent}: {len(chain)} chats in a chain\n"]
    if missing is not None:
        parts.append(f"The chat before the first, {missing}, is missing.\n")
    parts += [text_of(each) for each in chain]
    return "\n".join(parts)


def write_export(text: str, target: Path) -> Path:
    """Put an export where the user wants it; a file that is there stays."""
    if not files.create_file(target, text.encode("utf-8", "replace")):
        raise StorageError(f"{target}: there is such a file already; nothing was written.", path=target)
    return target


def require_summary(saved: Saved) -> str:
    """The summary that a chat can be resumed from; DocumentError, with 003's words, when it cannot be."""
    if saved.summary.text is not None:
        return saved.summary.text
    why = "no summary" if saved.summary.trouble == "missing" else "invalid summary format"
    raise DocumentError(f"Session can't be resumed ({why})")


def handed_over(header: Header, summary: str) -> bytes:
    """All that an agent is told of a chat when another goes on from it: what must be known to be this machine's own."""
    named = [markdown.inline(each) for each in (header.agent, header.agent_path)]  # as they stand on the page
    said = [header.session_id, clock.rfc3339(header.date), *named, header.resumed_from]
    return orjson.dumps([*said, summaries.harmless(summary).strip()])


def _missing(words: str) -> NotFoundError:
    return NotFoundError(f"There is no saved session {words}. The command sessions lists what there is.")
