import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { assertTrialFolder } from '../../machine/machine.ts'
import type { DemoPorts, Settings } from '../../settings.ts'
import { lockState } from '../state-lock.ts'
import { assertFree, unused } from './before-start.ts'
import { etcdProgram } from './etcd-program.ts'
import { titleLine } from './greeting.ts'
import { foundNodes } from './kept-nodes.ts'
import { endPrograms } from './left-programs.ts'
import type { NodeStart } from './node-process.ts'
import { nodeArguments, nodeEnvironment, type NodePlace, nodePlaces } from './places.ts'
import { TrialCluster } from './trial-cluster.ts'

type Environment = Readonly<Record<string, string | undefined>>

const say = (text: string) => void process.stdout.write(`${text}\n`)

/** Runs a cluster of daemons on this machine until a signal ends them all. */
export async function runNodes(
  settings: Settings,
  nodes: number,
  env: Environment,
  end: (code: number) => void,
): Promise<void> {
  const places = nodePlaces(settings, nodes)
  const { state } = settings
  for (const place of places) assertTrialFolder(place.state)
  lockState(state)
  const kept = foundNodes(state, places)
  const { program, version } = await etcdProgram(settings.etcd)
  await unused(places, () => say('  the nodes of an earlier start are still ending …'))
  const startOf = (place: NodePlace, demo: DemoPorts | undefined): NodeStart => ({
    place,
    program: process.argv[1] ?? '',
    args: nodeArguments(place, settings),
    env: nodeEnvironment(place, env, program, demo),
  })
  if (kept === undefined) for (const place of places) await clear(startOf(place, undefined))
  await assertFree(places, kept === undefined)
  say(titleLine(nodes, state))
  say(`  etcd ${version}`)
  const signal = endingSignal()
  const cluster = new TrialCluster({
    state,
    administrator: settings.administrator,
    wantsDemo: settings.demo,
    places,
    startOf,
    kept,
    say,
    complain: (text) => void process.stderr.write(`fulcrum: ${text}\n`),
  })
  process.on('SIGUSR2', () => cluster.startEnded())
  try {
    await Promise.race([cluster.start(), signal])
    await signal
  } finally {
    await cluster.end()
  }
  end(0)
}

/** Removes the rest of a start that was cut off, which was never announced to the user. */
async function clear(start: NodeStart): Promise<void> {
  if (!existsSync(start.place.state)) return
  const left = await endPrograms(start)
  if (left !== undefined)
    throw new Error(`a process of an earlier start in ${start.place.state} could not be stopped: ${left}`)
  await rm(start.place.state, { recursive: true, force: true })
}

/** Further signals change nothing, as with a single daemon. */
function endingSignal(): Promise<void> {
  for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined)
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => resolve())
  })
}
