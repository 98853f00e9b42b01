import type { DetachedStep, ProgramStep } from '../../../workers/detached/plan.ts'
import { INSTALLED_FORMAT } from '../../drivers/apt/parse.ts'
import type { SuiteChange } from '../../drivers/apt/sources.ts'

const MINUTE_MS = 60_000
const INSTALL_TIMEOUT_MS = 180 * MINUTE_MS
const REFRESH_TIMEOUT_MS = 20 * MINUTE_MS

/** Files in the folder of a job. */
export const BEFORE = 'before'
export const AFTER = 'after'
const TRIAL_SOURCES = 'sources'

/**
 * apt would take no_proxy for name suffixes, so our script decides what bypasses the proxy. apt must not ask questions,
 * and no other program takes part.
 */
const QUIET = [
  'env',
  '--unset=no_proxy',
  'LC_ALL=C',
  'DEBIAN_FRONTEND=noninteractive',
  'APT_LISTCHANGES_FRONTEND=none',
  'NEEDRESTART_SUSPEND=1',
] as const
/** Changed configuration files are the daemon's: they are kept. */
const KEEP = ['--force-confdef', '--force-confold'] as const
const OPTIONS = [
  '--quiet',
  '--yes',
  ...KEEP.flatMap((force) => ['-o', `Dpkg::Options::=${force}`]),
  '-o',
  'Dpkg::Use-Pty=0',
  '-o',
  'DPkg::Lock::Timeout=120',
  '-o',
  'APT::Status-Fd=3',
] as const

type Named = Partial<ProgramStep> & Pick<ProgramStep, 'why' | 'argv'>
const program = (step: Named): ProgramStep => ({ kind: 'program', weight: 1, timeout_ms: 10 * MINUTE_MS, ...step })

const apt = (words: readonly string[], why: string, more: Partial<ProgramStep> = {}) =>
  program({
    why,
    argv: [...QUIET, 'apt-get', ...OPTIONS, ...words],
    timeout_ms: INSTALL_TIMEOUT_MS,
    progress: 'apt',
    ...more,
  })

/** Completes an interrupted or failed installation. This may fail: the next version may contain what is missing. */
export const REPAIR: readonly ProgramStep[] = [
  program({
    why: 'configure half-installed packages',
    argv: [...QUIET, 'dpkg', ...KEEP, '--configure', '-a'],
    timeout_ms: INSTALL_TIMEOUT_MS,
    mayFail: true,
  }),
  apt(['--fix-broken', 'install'], 'repair missing dependencies', { mayFail: true, weight: 1 }),
]

const installedTo = (output: string, why: string) =>
  program({ why, argv: ['dpkg-query', '--show', `--showformat=${INSTALLED_FORMAT}`], output })

/** An unreachable repository is a failure, which a caller may allow. */
export function refresh(more: Partial<ProgramStep> = {}): ProgramStep {
  const timeouts = ['-o', 'Acquire::Retries=1', '-o', 'Acquire::http::Timeout=20', '-o', 'Acquire::https::Timeout=20']
  const words = [...timeouts, '-o', 'APT::Update::Error-Mode=any', 'update']
  const common = { weight: 10, timeout_ms: REFRESH_TIMEOUT_MS, retriedFor: 'Could not get lock' }
  return apt(words, 'contact the repositories', { ...common, ...more })
}

/** Returns the steps for all pending updates, followed by the uploaded files. */
export function upgradeSteps(files: readonly string[]): readonly DetachedStep[] {
  // An appliance without a network can be updated by upload.
  const isOffline = files.length > 0 ? ({ mayFail: true } as const) : {}
  const remove = program({ why: 'remove the uploaded files', argv: ['rm', '-f', '--', ...files] })
  const uploaded = [
    apt(['--no-remove', '--allow-downgrades', 'install', ...files], 'install the uploaded packages', {
      weight: 30,
      // Otherwise every later update would fail because of them too.
      otherwise: [remove],
    }),
    remove,
  ]
  return [
    installedTo(BEFORE, 'list the installed packages'),
    ...REPAIR,
    refresh(isOffline),
    // An update must not remove what serves here; another major version may.
    apt(['--no-remove', 'dist-upgrade'], 'install updates', { weight: 80 }),
    ...(files.length === 0 ? [] : uploaded),
    apt(['clean'], 'remove downloaded files', { mayFail: true }),
    installedTo(AFTER, 'list the packages installed now'),
  ]
}

/** Returns the steps for one package, if it is installed. */
export function packageSteps(name: string): readonly DetachedStep[] {
  return [
    installedTo(BEFORE, 'list the installed packages'),
    ...REPAIR,
    refresh({ mayFail: true }),
    apt(['--no-remove', 'install', '--only-upgrade', name], `update the package ${name}`, { weight: 80 }),
    installedTo(AFTER, 'list the packages installed now'),
  ]
}

export interface MajorChange {
  readonly folder: string
  readonly files: readonly string[]
  readonly suites: readonly SuiteChange[]
  /** Program that creates a snapshot, with English output; undefined if there is no LVM. */
  readonly snapshot: readonly string[] | undefined
}

/**
 * Returns the steps for other suites: they are queried separately first, so that nothing changes if one of them does
 * not answer.
 */
export function majorSteps({ folder, files, suites, snapshot }: MajorChange): readonly DetachedStep[] {
  const rewrite = { kind: 'suites', weight: 1, files, suites } as const
  const settings = [
    'Dir::Etc::sourcelist=/dev/null',
    `Dir::Etc::sourceparts=${folder}/${TRIAL_SOURCES}`,
    `Dir::State::lists=${folder}/lists`,
    'APT::Sandbox::User=root',
    'APT::Update::Error-Mode=any',
  ]
  const aside = [...settings.flatMap((setting) => ['-o', setting]), 'update']
  const back = [{ kind: 'putBack', why: 'restore the package sources', weight: 0 } as const, refresh({ mayFail: true })]
  return [
    installedTo(BEFORE, 'list the installed packages'),
    ...REPAIR,
    program({
      why: 'check that no package is half installed',
      argv: ['dpkg', '--audit'],
      isSilent: true,
    }),
    { ...rewrite, why: 'prepare the new package sources', into: TRIAL_SOURCES },
    apt(aside, 'contact the repositories of the new version', { weight: 10, timeout_ms: REFRESH_TIMEOUT_MS }),
    program({ why: 'remove the temporary package lists', argv: ['rm', '-rf', '--', `${folder}/lists`] }),
    ...(snapshot === undefined
      ? []
      : [program({ why: 'create a snapshot of the root file system', argv: snapshot, doneWhen: 'already exists' })]),
    { ...rewrite, why: 'change the package sources' },
    refresh({ otherwise: back }),
    apt(['dist-upgrade'], 'install the new version', { weight: 150 }),
    apt(['clean'], 'remove downloaded files', { mayFail: true }),
    installedTo(AFTER, 'list the packages installed now'),
  ]
}
