import { createTwoFilesPatch } from 'diff'

/** A minimal diff is worth a moment, not a stopped daemon: its cost grows with the square of what differs. */
const TIMEOUT_MS = 50

/** A unified diff. When a minimal one takes too long, everything between the first and the last difference is one hunk. */
export function fileDiff(path: string, before: string, after: string): string {
  const options = { context: 3, timeout: TIMEOUT_MS }
  return createTwoFilesPatch(path, path, before, after, 'running', 'candidate', options) ?? oneHunk(path, before, after)
}

function oneHunk(path: string, before: string, after: string): string {
  const [old, now] = [before.split('\n'), after.split('\n')]
  let head = 0
  while (head < old.length && head < now.length && old[head] === now[head]) head += 1
  let tail = 0
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail += 1
  const gone = old.slice(head, old.length - tail)
  const come = now.slice(head, now.length - tail)
  return [
    `--- ${path}\trunning`,
    `+++ ${path}\tcandidate`,
    `@@ -${head + 1},${gone.length} +${head + 1},${come.length} @@`,
    ...gone.map((line) => `-${line}`),
    ...come.map((line) => `+${line}`),
    '',
  ].join('\n')
}
