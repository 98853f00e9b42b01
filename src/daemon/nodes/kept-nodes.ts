import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFile } from '../../base/replaced-file.ts'
import type { DemoPorts } from '../../settings.ts'
import { addressText, type NodePlace } from './places.ts'

/** A cluster on one machine, as stored for its next start. */
export interface KeptNodes {
  readonly nodes: number
  /** HOST:PORT at which the others reach the first node; nodes know each other by these addresses. */
  readonly peer: string
  /** Whether all have joined, and the administrator was shown. */
  readonly isComplete: boolean
  readonly demo: DemoPorts | undefined
}

const FILE = 'nodes.json'

export function readKept(state: string): KeptNodes | undefined {
  const path = join(state, FILE)
  if (!existsSync(path)) return undefined
  // Sound: written by `keep` only.
  return JSON.parse(readFileSync(path, 'utf8')) as KeptNodes
}

export function keep(state: string, kept: KeptNodes): Promise<void> {
  return replaceFile(join(state, FILE), `${JSON.stringify(kept)}\n`)
}

/**
 * Returns the stored cluster that a start finds. An unfinished one counts as none: its password was never shown, so no
 * user can log in. Throws when the folder contains something else.
 */
export function foundNodes(state: string, places: readonly NodePlace[]): KeptNodes | undefined {
  const kept = readKept(state)
  const other = 'for another cluster, choose another folder with --state'
  if (kept === undefined && existsSync(join(state, 'node-1')))
    throw new Error(`${state} has a folder node-1 but no ${FILE}: ${other}`)
  if (kept === undefined || !kept.isComplete) return undefined
  if (kept.nodes !== places.length)
    throw new Error(`the cluster in ${state} has ${kept.nodes} nodes: start it with --nodes ${kept.nodes}; ${other}`)
  if (kept.peer !== peerOf(places)) {
    const [host] = kept.peer.split(':')
    const where = `--listen ${host}:PORT --peer ${kept.peer}`
    throw new Error(`the nodes in ${state} have other addresses: start them with ${where}; ${other}`)
  }
  return kept
}

export const peerOf = ([first]: readonly NodePlace[]): string => (first === undefined ? '' : addressText(first.peer))
