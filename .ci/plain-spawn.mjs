// What tap takes from @tapjs/processinfo: a process of a test is a process, and nothing is added to it.
import { spawn } from 'node:child_process'

export const ProcessInfo = { spawn }
