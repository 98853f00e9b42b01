// The part of @tapjs/processinfo that tap uses: it starts the process of a test and adds nothing to it.
import { spawn } from 'node:child_process'

export const ProcessInfo = { spawn }
