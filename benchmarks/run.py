"""Run all benchmarks one after the other, each in its own process. They report numbers and never gate."""
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main():
    failed = []
    for path in sorted(HERE.glob("*.py")):
        if path.name == Path(__file__).name:
            continue
        print(f"== {path.stem}", flush=True)
        if subprocess.run([sys.executable, path], check=False).returncode:
            failed.append(path.stem)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
