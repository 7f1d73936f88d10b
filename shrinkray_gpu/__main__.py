"""`python -m shrinkray_gpu` is `shrink`."""

from shrinkray_gpu.cli.main import main

if __name__ == "__main__":
    main()
