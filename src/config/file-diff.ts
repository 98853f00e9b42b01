import { formatPatch, structuredPatch } from 'diff'

/**
 * Limits the time for a minimal diff, whose cost grows with the square of the difference and would block the daemon.
 */
const TIMEOUT_MS = 50
const CONTEXT = 3
const BLOCK = 4096

/**
 * Returns a unified diff. When a minimal one takes too long, everything between the first and the last difference is
 * one hunk.
 */
export function fileDiff(path: string, before: string, after: string): string {
  const { from, till } = differing(before, after)
  const [old, now] = [before.slice(from, before.length - till), after.slice(from, after.length - till)]
  const options = { context: CONTEXT, timeout: TIMEOUT_MS }
  const patch = structuredPatch(path, path, old, now, 'running', 'candidate', options) ?? oneHunk(path, old, now)
  const skipped = linesIn(before, from)
  for (const hunk of patch.hunks) {
    hunk.oldStart += skipped
    hunk.newStart += skipped
  }
  return formatPatch(patch)
}

/**
 * Returns the characters before and after everything that differs, in whole lines, without the lines shown as context.
 */
function differing(before: string, after: string): { readonly from: number; readonly till: number } {
  const shorter = Math.min(before.length, after.length)
  const head = sharedBy(shorter, (from, to) => before.slice(from, to) === after.slice(from, to))
  let from = head
  for (let line = 0; line <= CONTEXT && from > 0; line++) from = before.lastIndexOf('\n', from - 2) + 1
  const tail = sharedBy(shorter - head, (near, far) => endOf(before, near, far) === endOf(after, near, far))
  let till = before.length - tail
  for (let line = 0; line <= CONTEXT && till < before.length; line++) till = endOfLine(before, till)
  return { from, till: before.length - till }
}

const endOf = (text: string, near: number, far: number) => text.slice(text.length - far, text.length - near)

function endOfLine(text: string, at: number): number {
  const end = text.indexOf('\n', at)
  return end === -1 ? text.length : end + 1
}

/** Returns how many of the first `length` positions are equal, compared block by block, then one by one. */
function sharedBy(length: number, same: (from: number, to: number) => boolean, block = BLOCK): number {
  let shared = 0
  for (const step of [block, 1]) while (shared + step <= length && same(shared, shared + step)) shared += step
  return shared
}

function linesIn(text: string, end: number): number {
  let lines = 0
  for (let at = text.indexOf('\n'); at !== -1 && at < end; at = text.indexOf('\n', at + 1)) lines++
  return lines
}

function oneHunk(path: string, before: string, after: string): ReturnType<typeof structuredPatch> {
  const [old, now] = [linesOf(before), linesOf(after)]
  const shorter = Math.min(old.length, now.length)
  const head = sharedBy(shorter, (at) => old[at] === now[at], 1)
  const tail = sharedBy(shorter - head, (at) => old.at(-1 - at) === now.at(-1 - at), 1)
  const lines = [
    ...old.slice(0, head).map((line) => ` ${line}`),
    ...old.slice(head, old.length - tail).map((line) => `-${line}`),
    ...now.slice(head, now.length - tail).map((line) => `+${line}`),
    ...old.slice(old.length - tail).map((line) => ` ${line}`),
  ]
  const hunk = { oldStart: 1, oldLines: old.length, newStart: 1, newLines: now.length, lines }
  const headers = { oldHeader: 'running', newHeader: 'candidate' }
  return { oldFileName: path, newFileName: path, ...headers, hunks: [hunk] }
}

function linesOf(text: string): readonly string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n')
}
