"""`python -m shrinkray_gpu` is `shrink`."""

from shrinkray_gpu.cli import main

if __name__ == "__main__":
    main()
