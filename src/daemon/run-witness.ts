import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../base/clock.ts'
import { createLog } from '../base/log.ts'
import { addressText } from '../base/socket-address.ts'
import { VERSION } from '../base/version.ts'
import { createWitnessMachine } from '../machine/witness-machine.ts'
import { EtcdService } from '../membership/etcd-service.ts'
import { SettingsError, type WitnessSettings } from '../settings.ts'
import { Witness } from '../witness/witness.ts'
import { WitnessFiles } from '../witness/witness-files.ts'
import { endingSignal } from './ending.ts'
import { createNotifier } from './sd-notify.ts'
import { lockState } from './state-lock.ts'

const AWAKE_MS = 3_600_000
/** Limit of Linux for the path (unix(7)), without the final zero. */
const SOCKET_LENGTH_MAX = 107

const say = (text: string) => void process.stdout.write(`${text}\n`)

/** Runs the daemon of a witness until a signal ends it. */
export async function runWitness(settings: WitnessSettings, end: (code: number) => void): Promise<void> {
  const { state, peer } = settings
  if (settings.check && !existsSync(state)) throw new Error(`there is nothing in ${state}`)
  const files = new WitnessFiles(state)
  if (files.cluster.socket.length > SOCKET_LENGTH_MAX)
    throw new SettingsError(`--state ${state}: too long for the socket of etcd inside`)
  lockState(state)
  if (files.cluster.read() !== undefined)
    throw new Error(
      `${state} belongs to a node in a cluster; remove the node from the cluster before it becomes a witness`,
    )
  if (settings.check) {
    say(checked(files))
    return end(0)
  }
  const log = createLog((line) => void process.stderr.write(line))
  const notifier = createNotifier(settings.notify)
  const signal = endingSignal()
  const machine = createWitnessMachine(settings)
  const { executor, etcdSays, keepsEtcd } = machine
  say(`Fulcrum ${VERSION}, witness profile, state in ${state}`)
  say(`  Reached at     ${addressText(peer)}`)
  let told = 'starts'
  const tell = (how: string) => {
    told = how
    say(`  Witness        ${how}`)
    notifier.status(how)
  }
  const parts = { stateFolder: state, peer, executor, etcdSays, tell, clock: systemClock, log, wait: sleep }
  const witness = await Witness.open(parts)
  notifier.ready(told)
  notifier.startWatchdog(() => true)
  // No port is open while the witness waits for a token, and Node would exit without a timer.
  const awake = setInterval(() => undefined, AWAKE_MS)
  log.info('stopping', { why: await signal })
  clearInterval(awake)
  notifier.stopping()
  await witness.close()
  if (!keepsEtcd) await new EtcdService(executor, files.cluster).stop()
  end(0)
}

/** Returns the result of `--check`: all data that could be damaged is also on the nodes. */
function checked(files: WitnessFiles): string {
  const own = files.read()
  if (own === undefined) return 'it is not the witness of a cluster'
  const until = new Date(files.credentials().notAfter_ms).toISOString()
  return `it is the witness of the cluster ${own.name}; its certificate ends ${until}`
}
