import type { UserInterface } from '../../model/node.ts'
import type { ConfigView, RecordChange } from '../../model/sections.ts'
import type { ChangeEffect, Driver, PlanOptions, PortClaim, RunStep, Step } from '../driver.ts'
import type { Problem } from '../../model/problem.ts'
import { writtenHere } from '../fragment.ts'
import type { Outside } from '../host.ts'
import { PROGRAMS } from '../programs.ts'
import { nodeIn } from '../this-node.ts'

/** Read by Debian's sshd_config before its own lines. */
const FRAGMENT = '/etc/ssh/sshd_config.d/fulcrum.conf'
const FILE_MODE = 0o644
const TIMEOUT_MS = 30_000
const LISTEN_TIMEOUT_MS = 5_000
/** sshd accepts a self-check only under its absolute path. */
const SSHD = '/usr/sbin/sshd'
/** sshd's keys are hidden from the daemon; while ssh.service is stopped, the folder that sshd needs is missing. */
const OUTSIDE: Outside = { runtimeDirectory: 'sshd' }
/** Does not start sshd, which is a separate setting. */
const RELOAD = ['systemctl', 'try-reload-or-restart', PROGRAMS.ssh.unit] as const

interface Ssh {
  readonly sshEnabled: boolean
  /** undefined: as in the machine's own configuration. */
  readonly sshPort: number | undefined
}

/** Until the setting is made, whether sshd runs is left to the machine. */
function sshOf(record: UserInterface | undefined): Ssh | undefined {
  return record?.sshEnabled === undefined ? undefined : { sshEnabled: record.sshEnabled, sshPort: record.sshPort }
}

/** sshd of one node: its port, and whether it runs. The rest of its configuration is the machine's own. */
export function sshdDriver(nodeId: string): Driver {
  const ssh = (view: ConfigView): Ssh | undefined => sshOf(view.get('userInterfaces', nodeIn(view, nodeId)))
  return {
    name: 'ssh',
    sections: ['userInterfaces'],
    prepare: () => [],
    verify: () => [],
    plan: (running, desired, options) =>
      planFor(running === undefined ? 'unknown' : ssh(running), ssh(desired), options),
    effectOf: (change, _, desired) => effectOf(change, nodeIn(desired, nodeId)),
    render: (desired) => {
      const wanted = ssh(desired)
      return wanted?.sshEnabled === true ? [{ path: FRAGMENT, content: fragment(wanted) }] : []
    },
    diagnose: (output, desired) => [diagnosis(output, ssh(desired), nodeIn(desired, nodeId))],
  }
}

function fragment({ sshPort }: Ssh): string {
  return writtenHere(sshPort === undefined ? [] : [`Port ${sshPort}`])
}

function planFor(before: Ssh | 'unknown' | undefined, after: Ssh | undefined, options: PlanOptions): readonly Step[] {
  if (after === undefined) return before === undefined || before === 'unknown' ? [] : givenBack()
  if (before !== 'unknown' && isSame(before, after)) return []
  if (!after.sshEnabled) return [enabled('disabled', 'stop sshd'), removal()]
  return switchedOn(before, after, options)
}

function isSame(before: Ssh | undefined, after: Ssh): boolean {
  if (before === undefined || before.sshEnabled !== after.sshEnabled) return false
  return before.sshPort === after.sshPort || !after.sshEnabled
}

/** sshd checks the configuration before anything changes; established sessions survive all of it. */
function switchedOn(before: Ssh | 'unknown' | undefined, after: Ssh, { atLeast }: PlanOptions): readonly Step[] {
  const content = fragment(after)
  const check: Step = {
    kind: 'check',
    why: 'let sshd check its new settings',
    timeout_ms: TIMEOUT_MS,
    path: FRAGMENT,
    content,
    mode: FILE_MODE,
    argv: [SSHD, '-t', '-f', `${FRAGMENT}.candidate`],
    outside: OUTSIDE,
    ports: claims(before, after),
  }
  const replace: Step = {
    kind: 'replaceFile',
    why: 'install the checked settings of sshd',
    timeout_ms: TIMEOUT_MS,
    path: FRAGMENT,
    content,
    mode: FILE_MODE,
    checked: true,
  }
  const isAdoption = before === 'unknown' && atLeast === 'runtime'
  const reload: Step = {
    kind: 'unit',
    why: 'make sshd read its settings; established sessions continue',
    timeout_ms: TIMEOUT_MS,
    unit: 'ssh',
    verb: atLeast === 'restart' ? 'restart' : 'reload',
    // A daemon that could not bind its port has died; the undo starts it again.
    undo: 'asFound',
    whenUnchanged: isAdoption ? 'skip' : 'act',
  }
  // The found state of the service is stored before it is started: a crash in between must not enable sshd for good.
  const enable = enabled('enabled', 'make sshd run, now and after each boot')
  return [check, replace, ...wholeConfig(after), enable, reload, listens(after)]
}

function wholeConfig({ sshPort }: Ssh): readonly Step[] {
  if (sshPort === undefined) return []
  const why = `check that sshd listens on port ${sshPort} only: remove every other "Port" line from sshd_config and sshd_config.d`
  const expect = { prefix: 'port ', lines: [`port ${sshPort}`] }
  return [{ ...runStep(why, [SSHD, '-T']), outside: OUTSIDE, expect }]
}

/** A reload only sends a signal: whether sshd could bind the port shows afterwards. */
function listens({ sshPort }: Ssh): Step {
  const [where, filter] = sshPort === undefined ? ['', []] : [` on port ${sshPort}`, [`sport = :${sshPort}`]]
  const argv = ['ss', '--no-header', '--listening', '--numeric', '--tcp', '--processes', ...filter]
  return {
    ...runStep(`wait until sshd listens${where}`, argv),
    timeout_ms: LISTEN_TIMEOUT_MS,
    outside: {},
    expect: { comes: '"sshd"', otherwise: `sshd does not listen${where}` },
  }
}

/** Only a port that sshd certainly does not hold can be tried: without a record it may be listening there. */
function claims(before: Ssh | 'unknown' | undefined, after: Ssh): readonly PortClaim[] {
  if (before === undefined || before === 'unknown' || after.sshPort === undefined) return []
  if (before.sshEnabled && before.sshPort === after.sshPort) return []
  return [{ ip: '0.0.0.0', port: after.sshPort, claimant: 'sshd' }]
}

/** Restores the found state. The first step does nothing: its undo runs after the file was restored. */
function givenBack(): readonly Step[] {
  const reload = runStep('make a running sshd read its settings', RELOAD)
  const wayBack: RunStep = { ...runStep('keep a way back for sshd', ['true']), undo: reload.argv }
  return [wayBack, removal(), reload, enabled(undefined, 'leave sshd running or stopped, as it was found')]
}

function removal(): Step {
  return {
    kind: 'removeFile',
    why: 'remove the settings of sshd',
    timeout_ms: TIMEOUT_MS,
    path: FRAGMENT,
  }
}

function enabled(value: 'enabled' | 'disabled' | undefined, why: string): Step {
  const setting = { kind: 'unitEnabled', unit: 'ssh' } as const
  // Without sshd there is nothing to switch off; switching it on was already refused by the check.
  return { kind: 'setting', why, timeout_ms: TIMEOUT_MS, setting, value, isOptional: true }
}

function runStep(why: string, argv: readonly string[]): RunStep {
  return { kind: 'run', why, timeout_ms: TIMEOUT_MS, argv, undo: 'irreversible' }
}

function effectOf(change: RecordChange, nodeId: string): ChangeEffect | undefined {
  if (change.section !== 'userInterfaces' || change.id !== nodeId) return undefined
  const [before, after] = [sshOf(change.before), sshOf(change.after)]
  if (after === undefined ? before === undefined : isSame(before, after)) return undefined
  return after?.sshEnabled === false ? 'restart' : 'reload'
}

function diagnosis(output: string, desired: Ssh | undefined, nodeId: string): Problem {
  const reason = output.replaceAll(/^\[ALERT\] : /gm, '').trim()
  const message = reason === '' ? 'sshd refused its settings and gave no reason' : reason
  const field = desired === undefined ? undefined : 'sshPort'
  return { section: 'userInterfaces', id: nodeId, field, message }
}
