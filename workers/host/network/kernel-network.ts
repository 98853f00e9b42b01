import type { DesiredNetwork, NetworkOutcome, NetworkPhase, RunResult } from '../../../src/drivers/host.ts'
import { deadline } from '../../commands.ts'
import type { Run } from '../managed-program.ts'
import { announce } from './announcement.ts'
import { type Difference, differenceOf, isSame } from './difference.ts'
import { displacedRoutes } from './displaced-routes.ts'
import { addressText, FAMILIES, type KernelState, readKernel, routeKey, UnreadableKernel } from './kernel-state.ts'
import { isNothing, type Memory, NetworkMemory, NOTHING } from './memory.ts'
import { silentGateways, takenAddresses } from './neighbours.ts'
import { keepingSecondaries } from './promotion.ts'
import { raiseLinks, setLinks } from './raised-links.ts'
import { ourPart, resolve, type Target, type TargetAddress, together } from './target.ts'
import { reasonOf } from '../../../src/base/reason.ts'

/** Each round corrects the kernel's own reactions to the round before. */
const ROUNDS_MAX = 4

const DONE = { exitCode: 0, output: '', undo: undefined, warnings: [] } as const

interface Settled extends RunResult {
  readonly warnings: readonly string[]
}

/** Whether something must be undone, even if the rest fails. */
interface Told {
  hasChanged: boolean
}

interface Making {
  readonly desired: DesiredNetwork
  readonly isSettling: boolean
  readonly isTrusted: boolean
  readonly memory: Memory
  /** Our part of the kernel before the change. */
  readonly before: Target
  readonly kernel: KernelState
  /** Interfaces that were brought up since the kernel was read. */
  readonly raised: readonly string[]
  readonly left_ms: () => number
}

interface Work {
  readonly kernel: KernelState
  readonly memory: Memory
  readonly target: Target
  /** Stored as wanted when the work is done. */
  readonly wanted: DesiredNetwork
  readonly isOrdered: boolean
  readonly left_ms: () => number
}

/** Addresses, routes and rules of this node's kernel, through iproute2. */
export class KernelNetwork {
  readonly #memory: NetworkMemory
  readonly #run: Run
  /** Addresses added since the last settlement: their gateways are tested once the routes exist as well. */
  #fresh: readonly TargetAddress[] = []

  /** `file` stores which addresses are this daemon's; routes and rules carry its protocol number. */
  constructor(file: string, run: Run) {
    this.#memory = new NetworkMemory(file)
    this.#run = run
  }

  /** Returns the network that was settled last, whether or not it is in the kernel. */
  async wanted(): Promise<DesiredNetwork> {
    return (await this.#memory.load())?.wanted ?? NOTHING
  }

  /** When `isTrusted`, no other machine is asked: the network was the same before the reboot. */
  async make(
    desired: DesiredNetwork,
    phase: NetworkPhase,
    timeout_ms: number,
    isTrusted = false,
  ): Promise<NetworkOutcome> {
    const { leftOut = [], ...network } = desired
    try {
      const outcome = await this.#make(network, phase, timeout_ms, isTrusted)
      // Every change ends with this phase, so each warning is given once.
      return { ...outcome, warnings: phase === 'settle' ? [...leftOut, ...outcome.warnings] : [] }
    } catch (error) {
      return { ...failed(error), undo: undefined, warnings: [] }
    }
  }

  async #make(
    desired: DesiredNetwork,
    phase: NetworkPhase,
    timeout_ms: number,
    isTrusted: boolean,
  ): Promise<NetworkOutcome> {
    const left_ms = deadline(timeout_ms)
    const stored = await this.#memory.load()
    if (stored === undefined && isNothing(desired)) return DONE
    const memory = stored ?? { addresses: [], displaced: [], wanted: NOTHING }
    const kernel = await readKernel(this.#run, left_ms())
    const before = ourPart(kernel, memory.addresses)
    const raised = await raiseLinks(desired, kernel, this.#run, left_ms())
    const undo = async () => {
      const undone = await this.#undo(before, memory.wanted, timeout_ms)
      await setLinks(raised, 'down', this.#run, timeout_ms)
      return undone
    }
    const told = { hasChanged: raised.length > 0 }
    const isSettling = phase === 'settle'
    try {
      const made = await this.#change({ desired, isSettling, isTrusted, memory, before, kernel, raised, left_ms }, told)
      return { ...made, undo: told.hasChanged ? undo : undefined }
    } catch (error) {
      return { ...failed(error), undo: told.hasChanged ? undo : undefined, warnings: [] }
    }
  }

  /** Sets `told.hasChanged` once something was changed, even if it throws later. */
  async #change(making: Making, told: Told): Promise<Omit<NetworkOutcome, 'undo'>> {
    const { desired, isSettling, isTrusted, memory, before, raised, left_ms } = making
    const kernel = raised.length > 0 ? await readKernel(this.#run, left_ms()) : making.kernel
    const { target, warnings } = resolve(desired, kernel, memory.addresses)
    const fresh = unseen(target.addresses, kernel)
    const missing = isTrusted ? [] : fresh.filter(({ pingCheck }) => pingCheck)
    const taken = await takenAddresses(missing, this.#run)
    if (taken.length > 0) {
      await setLinks(raised, 'down', this.#run, left_ms())
      told.hasChanged = false
      return { exitCode: 1, output: taken.join('\n'), warnings: [] }
    }
    this.#fresh = [...this.#fresh, ...missing]
    const work = {
      kernel,
      memory,
      target: isSettling ? target : together(before, target),
      wanted: isSettling ? desired : memory.wanted,
      isOrdered: isSettling,
      left_ms,
    }
    const result = await this.#turn(work, told)
    // What is stored must be undone as well, which matters only when something settled.
    told.hasChanged ||= isSettling
    // Not awaited: the neighbours are told at once, and arping then waits a second for answers.
    if (result.exitCode === 0) void announce(fresh, this.#run)
    const silent = isSettling && result.exitCode === 0 ? await this.#silentGateways(target) : []
    return { ...result, warnings: [...warnings, ...result.warnings, ...silent] }
  }

  async #silentGateways({ addresses }: Target): Promise<readonly string[]> {
    const there = new Set(addresses.map(addressText))
    const asked = this.#fresh.filter((address) => there.has(addressText(address)))
    this.#fresh = []
    return silentGateways(asked, this.#run)
  }

  async #undo(before: Target, wanted: DesiredNetwork, timeout_ms: number): Promise<RunResult> {
    this.#fresh = []
    try {
      const left_ms = deadline(timeout_ms)
      const kernel = await readKernel(this.#run, left_ms())
      const memory = (await this.#memory.load()) ?? { addresses: [], displaced: [], wanted: NOTHING }
      const work = { kernel, memory, target: before, wanted, isOrdered: true, left_ms }
      return await this.#turn(work, { hasChanged: false })
    } catch (error) {
      return failed(error)
    }
  }

  /** Turns the kernel into the target, round by round. Each round is stored before it is carried out. */
  async #turn(work: Work, told: Told): Promise<Settled> {
    const { target, left_ms, isOrdered, memory } = work
    const refused = new Set<string>()
    let { kernel } = work
    let owned = present(memory.addresses, kernel)
    let { displaced } = memory
    let output = ''
    let difference: Difference
    for (let round = 0; ; round += 1) {
      difference = differenceOf({ kernel, target, owned, displaced, refused, isOrdered })
      if (isSame(difference) || round === ROUNDS_MAX || left_ms() <= 1) break
      const found = await displacedRoutes(difference.displaces, this.#run, left_ms())
      displaced = [...displaced.filter(({ key }) => !found.some((other) => other.key === key)), ...found]
      owned = distinct([...owned, ...difference.adds.map(({ linkId, ip, prefix }) => ({ linkId, ip, prefix }))])
      await this.#memory.save({ addresses: owned, displaced, wanted: memory.wanted })
      told.hasChanged = true
      output = await this.#carryOut(difference, left_ms)
      kernel = await readKernel(this.#run, left_ms())
      owned = present(owned, kernel)
      const standing = new Set(kernel.routes.filter(({ isOurs }) => !isOurs).map(routeKey))
      for (const { key } of difference.givesBack) if (!standing.has(key)) refused.add(key)
    }
    const keys = new Set(target.routes.map(routeKey))
    displaced = displaced.filter(({ key }) => keys.has(key))
    await this.#remember({ addresses: owned, displaced, wanted: isSame(difference) ? work.wanted : memory.wanted })
    const waits = isOrdered ? difference.waits : []
    const warnings = [
      ...[...refused].map((key) => `the original route at ${key} could not be restored`),
      ...waits.map(({ destination }) => `the route to ${destination} waits: that network is connected`),
    ]
    if (isSame(difference)) return { exitCode: 0, output: '', warnings }
    const open = [...difference.lines[4], ...difference.lines[6]].join('; ')
    return { exitCode: 1, output: `the kernel does not accept: ${open}\n${output}`.trim(), warnings }
  }

  async #carryOut({ lines, promotes }: Difference, left_ms: () => number): Promise<string> {
    return keepingSecondaries(promotes, this.#run, left_ms(), async () => {
      const outputs: string[] = []
      for (const family of FAMILIES) {
        if (lines[family].length === 0) continue
        const argv = ['ip', `-${family}`, '-force', '-batch', '-']
        const input = `${lines[family].join('\n')}\n`
        outputs.push((await this.#run(argv, left_ms(), { input })).output)
      }
      return outputs.join('\n').trim()
    })
  }

  async #remember(memory: Memory): Promise<void> {
    const isEmpty = memory.addresses.length + memory.displaced.length === 0 && isNothing(memory.wanted)
    await (isEmpty ? this.#memory.forget() : this.#memory.save(memory))
  }
}

function failed(error: unknown): RunResult {
  const output = reasonOf(error)
  return { exitCode: error instanceof UnreadableKernel ? error.exitCode : 1, output }
}

/** Addresses that no interface of this node has yet. */
function unseen(addresses: readonly TargetAddress[], kernel: KernelState): readonly TargetAddress[] {
  const own = new Set(kernel.addresses.map(({ ip }) => ip))
  return addresses.filter(({ ip }) => !own.has(ip))
}

/** In the kernel's order, so that the same state is always stored as the same text. */
function present(owned: Memory['addresses'], { addresses }: KernelState): Memory['addresses'] {
  const ours = new Set(owned.map(addressText))
  return addresses
    .filter((address) => ours.has(addressText(address)))
    .map(({ linkId, ip, prefix }) => ({ linkId, ip, prefix }))
}

const distinct = (owned: Memory['addresses']): Memory['addresses'] => [
  ...new Map(owned.map((address) => [addressText(address), address])).values(),
]
