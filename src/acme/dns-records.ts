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
/** A node's turn is longer than this and one more call. */
const PRESENT_MS_MAX = 200_000
/** After this many failures a provider that is down is left alone for now. */
const FAILURES_MAX = 3

export interface DnsRecordsParts {
  /** The configuration that all nodes run. */
  readonly agreed: Pick<ConfigView, 'get'>
  readonly run: (script: ScriptRun) => Promise<ScriptRan>
  readonly clock: Pick<MachineClock, 'monotonic_ms'>
}

/** The DNS records of orders, created and removed by scripts. */
export class DnsRecords {
  readonly #parts: DnsRecordsParts

  constructor(parts: DnsRecordsParts) {
    this.#parts = parts
  }

  /**
   * Creates the records; resolves with the reason if that failed. A script may be called again for records that it has
   * created.
   */
  async present(order: AcmeOrder, answers: readonly AcmeAnswer[]): Promise<string | undefined> {
    const { clock } = this.#parts
    const until_ms = clock.monotonic_ms() + PRESENT_MS_MAX
    for (const answer of answers) {
      if (clock.monotonic_ms() > until_ms)
        return `The script takes too long for ${answers.length} records: order fewer names together`
      const why = await this.#called('present', order, answer)
      if (why !== undefined) return why
    }
    return undefined
  }

  /** Removes the records as far as possible; resolves with those that are left, and the reason. */
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
    if (dns === undefined || script === undefined) return `${action} ${name}: the script no longer exists`
    const { exitCode, output } = await this.#ran({
      script: script.script,
      words: [action, name, value, ...flagsOf(script, dns.parameters ?? {})],
      seconds: dns.timeout ?? SCRIPT_S,
      // On standard input, because every account of the machine can see arguments.
      input: Object.entries(secrets)
        .map(([key, secret]) => `${key}=${secret}\n`)
        .join(''),
    })
    if (exitCode === 0) return undefined
    const said = withoutSecrets(output, Object.values(secrets)).trim().slice(-OUTPUT_SHOWN_MAX)
    const how = howItEnded(exitCode, dns.timeout ?? SCRIPT_S)
    return `The script ${script.name} ${how} at ${action} ${name}${said === '' ? '' : `: ${said}`}`
  }

  /** Runs a script. One that could not start in time, because too many others wait, counts as failed. */
  #ran(script: ScriptRun): Promise<Pick<ScriptRan, 'exitCode' | 'output'>> {
    return this.#parts.run(script).catch((error: unknown) => ({ exitCode: NO_SANDBOX, output: String(error) }))
  }
}

function howItEnded(exitCode: number, seconds: number): string {
  if (exitCode === NO_SANDBOX) return 'was not started'
  return exitCode === KILLED ? `was killed, perhaps after ${seconds} s,` : `ended with ${exitCode}`
}
