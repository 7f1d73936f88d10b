"""Commands beside the reducer that ask something of a program: `shrink explain`, `shrink ir`, `shrink sweep`,
`shrink bisect`."""
