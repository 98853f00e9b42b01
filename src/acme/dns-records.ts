import type { MachineClock } from '../base/clock.ts'
import { withoutSecrets } from '../base/mask.ts'
import { flagsOf } from '../health-checks/asked-check.ts'
import type { AcmeAnswer, AcmeOrder } from '../model/acme.ts'
import type { ScriptRun, ScriptRan } from '../model/machine-facts.ts'
import type { ConfigView } from '../model/sections.ts'

export const SCRIPT_S = 30
const OUTPUT_SHOWN_MAX = 300
const KILLED = 137
const NO_SANDBOX = 125
/** The turn of a node is longer than this and one call more. */
const PRESENT_MS_MAX = 200_000
/** A provider that is down is asked no more for now. */
const FAILURES_MAX = 3

export interface DnsRecordsParts {
  /** What all nodes run. */
  readonly agreed: Pick<ConfigView, 'get'>
  readonly run: (script: ScriptRun) => Promise<ScriptRan>
  readonly clock: Pick<MachineClock, 'monotonic_ms'>
}

/** The records of DNS that orders promise, as their scripts make and remove them. */
export class DnsRecords {
  readonly #parts: DnsRecordsParts

  constructor(parts: DnsRecordsParts) {
    this.#parts = parts
  }

  /** Makes them; answers why it could not. A script may be called again with what it has made. */
  async present(order: AcmeOrder, answers: readonly AcmeAnswer[]): Promise<string | undefined> {
    const { clock } = this.#parts
    const until_ms = clock.monotonic_ms() + PRESENT_MS_MAX
    for (const answer of answers) {
      if (clock.monotonic_ms() > until_ms)
        return `The script takes too long for ${answers.length} records: order fewer names at once`
      const why = await this.#called('present', order, answer)
      if (why !== undefined) return why
    }
    return undefined
  }

  /** Removes them all, as far as that can be done; answers those that are left, and why. */
  async remove(order: AcmeOrder, answers: readonly AcmeAnswer[]) {
    const left: AcmeAnswer[] = []
    let why: string | undefined
    for (const answer of answers) {
      const refused = left.length < FAILURES_MAX ? await this.#called('cleanup', order, answer) : why
      if (refused === undefined) continue
      left.push(answer)
      why ??= refused
    }
    return { left, why }
  }

  async #called(action: 'present' | 'cleanup', order: AcmeOrder, { name, value }: AcmeAnswer) {
    const { dns, secrets = {} } = order
    const script = dns && this.#parts.agreed.get('healthChecks', dns.scriptId)
    if (dns === undefined || script === undefined) return `${action} ${name}: there is no script any more`
    const { exitCode, output } = await this.#ran({
      script: script.script,
      words: [action, name, value, ...flagsOf(script, dns.parameters ?? {})],
      seconds: dns.timeout ?? SCRIPT_S,
      // Not among the words, which every account of the machine can see.
      input: Object.entries(secrets)
        .map(([key, secret]) => `${key}=${secret}\n`)
        .join(''),
    })
    if (exitCode === 0) return undefined
    const said = withoutSecrets(output, Object.values(secrets)).trim().slice(-OUTPUT_SHOWN_MAX)
    const how = howItEnded(exitCode, dns.timeout ?? SCRIPT_S)
    return `The script ${script.name} ${how} at ${action} ${name}${said === '' ? '' : `: ${said}`}`
  }

  /** A script that could not be started in time, because too many others wait, counts as not started. */
  #ran(script: ScriptRun): Promise<Pick<ScriptRan, 'exitCode' | 'output'>> {
    return this.#parts.run(script).catch((error: unknown) => ({ exitCode: NO_SANDBOX, output: String(error) }))
  }
}

function howItEnded(exitCode: number, seconds: number): string {
  if (exitCode === NO_SANDBOX) return 'was not started'
  return exitCode === KILLED ? `was killed, perhaps after ${seconds} s,` : `ended with ${exitCode}`
}
