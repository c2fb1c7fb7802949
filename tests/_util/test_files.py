"""Files that survive a kill, and locks between processes."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval._util.files import CloseOnExit, is_locked, open_locked, try_lock, write_atomically

HOLD = """
import sys
from greval._util.files import try_lock
held = open(sys.argv[1], "ab")
assert try_lock(held.fileno())
print("held", flush=True)
sys.stdin.read()
"""
REFUSE_FCNTL = """
import sys
class Refusal:
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "termios", "resource"):
            raise ImportError(f"no {name} on this system")
sys.meta_path.insert(0, Refusal())
sys.modules.pop("fcntl", None)
from greval.cli import main
main()
"""


@pytest.fixture
def holder(tmp_path: Path):
    """Start another process that holds the lock of a file."""
    file = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield file, process
        process.kill()


class TestWriteAtomically:
    """`write_atomically` replaces a file or leaves it alone."""

    @given(st.text(alphabet=st.characters(exclude_categories=["Cs"])), st.text("ab\n\r"))
    def test_the_content_is_the_text_of_the_last_write(self, tmp_path_factory, first: str, second: str):
        """A reader sees the last text byte for byte, without a change of line ends."""
        file = tmp_path_factory.mktemp("atomic") / "a.txt"
        for text in (first, second):
            write_atomically(file, text)
            assert file.read_bytes() == text.encode()
        assert [*file.parent.iterdir()] == [file]

    def test_a_failed_write_keeps_the_old_content(self, tmp_path: Path):
        """A text that cannot be put in place raises, and no partial file is left."""
        folder = tmp_path / "taken"
        folder.mkdir()
        (folder / "old").write_text("kept")
        with pytest.raises(OSError, match="taken"):
            write_atomically(folder, "new")
        assert [found.name for found in tmp_path.iterdir()] == ["taken"]
        assert (folder / "old").read_text() == "kept"

    def test_text_that_is_not_unicode_is_refused_before_anything_is_written(self, tmp_path: Path):
        """A lone surrogate raises, and the file stays as it was."""
        file = tmp_path / "a.txt"
        write_atomically(file, "old")
        with pytest.raises(UnicodeEncodeError):
            write_atomically(file, "\ud800")
        assert file.read_text() == "old"
        assert [*tmp_path.iterdir()] == [file]


class TestLocks:
    """A lock is held by one open file, and by no process that has ended."""

    def test_one_file_holds_the_lock_until_it_is_closed(self, tmp_path: Path):
        """The second open file of one process gets the lock only after the first is closed."""
        path = tmp_path / "lock"
        with path.open("ab") as second:
            with path.open("ab") as first:
                assert try_lock(first.fileno())
                assert not try_lock(second.fileno())
                assert is_locked(path)
            assert not is_locked(path)
            assert try_lock(second.fileno())

    @pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
    def test_the_end_of_a_process_frees_its_lock(self, holder, end):
        """A killed process holds no lock."""
        path, process = holder
        with path.open("ab") as file:
            assert is_locked(path)
            assert not try_lock(file.fileno())
            process.send_signal(end)
            process.wait()
            assert try_lock(file.fileno())

    def test_a_probe_changes_nothing(self, tmp_path: Path):
        """`is_locked` neither creates nor empties a file, and keeps no lock."""
        path = tmp_path / "lock"
        assert not is_locked(path)
        assert not path.exists()
        path.write_text("content")
        assert not is_locked(path)
        assert path.read_text() == "content"
        with path.open("ab") as file:
            assert try_lock(file.fileno())


@pytest.mark.parametrize("command", [["--help"], ["evaluate", "--help"], ["metrics", "list"]])
def test_the_command_line_starts_without_fcntl(command):
    """On a system without `fcntl`, as Windows, the command line starts."""
    done = subprocess.run([sys.executable, "-c", REFUSE_FCNTL, *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "correctness" in done.stdout if command[0] == "metrics" else "Usage: " in done.stdout


def test_a_subclass_is_closed_on_exit_also_after_an_error():
    """Leaving the `with` statement closes the object, and the error passes through."""
    closed = []

    class Resource(CloseOnExit):
        def close(self) -> None:
            closed.append(self)

    with pytest.raises(KeyError), Resource() as resource:
        raise KeyError
    assert closed == [resource]
    with pytest.raises(NotImplementedError):
        CloseOnExit().close()


def test_a_folder_is_locked_by_one_process(holder, tmp_path):
    """The folder is created; a lock that another process holds is not waited for."""
    file, process = holder
    assert open_locked(file) is None
    process.kill()
    process.wait()
    with open_locked(tmp_path / "new" / "lock") as held:
        assert is_locked(tmp_path / "new" / "lock")
        assert held.writable()
    assert not is_locked(tmp_path / "new" / "lock")
