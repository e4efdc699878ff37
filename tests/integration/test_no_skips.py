"""With `-p tests.no_skips`, as CI runs the tests, nothing is left out unseen."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CASES = {
    "passes": "def test_it(): pass",
    "skips": "import pytest\ndef test_it(): pytest.skip('not today')",
    "is_marked": "import pytest\n@pytest.mark.skip('not today')\ndef test_it(): pass",
    "leaves_all_out": "import pytest\npytest.skip('not today', allow_module_level=True)",
    "is_known_to_fail": "import pytest\n@pytest.mark.xfail\ndef test_it(): assert False",
}


@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "2")], ids=["alone", "two workers"])
def test_a_skip_is_a_failure(workers: tuple[str, ...], tmp_path: Path) -> None:
    for name, code in CASES.items():
        (tmp_path / f"test_{name}.py").write_text(code)
    flags = ("-p", "tests.no_skips", "-c", "/dev/null", "--continue-on-collection-errors", "-rN")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *flags, *workers, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert "1 failed, 1 passed, 1 xfailed, 2 errors" in ran.stdout.splitlines()[-1]
    assert ran.stdout.count("Nothing may be skipped here. Skipped: not today") == 3
