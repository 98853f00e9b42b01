import { Type } from 'typebox'
import type { ForcedStatus, SoftwareStatus } from '../context/machine-care.ts'
import { endpoint, NoData } from '../api/endpoint.ts'
import { begun, Reply } from '../api/reply.ts'
import { closed } from '../model/fields.ts'

const PATH = '/{applianceId}/system/update'
/** Limit of the body: a package of 96 MiB in base64. */
const UPLOAD_BYTES_MAX = 128 * 1024 * 1024

const text = (description: string) => Type.String({ description })

const MajorVersion = Type.Object({
  versionNumber: text('Version of this software.'),
  osRelease: text('Release of the operating system in that version.'),
  changelogURL: text('Release notes.'),
  osUpdate: Type.Boolean({ description: 'Whether the upgrade changes the operating system.' }),
})

const packageFields = {
  name: text('Name of the package.'),
  summary: text('Short description, one line.'),
  description: text('Long description; empty if the repository has none.'),
  url: text('Home page; empty if there is none.'),
  license: text('Licence; empty, because Debian has no such field.'),
  architecture: text('Architecture, or all.'),
  repository: text('Label and version of its repository, such as Debian-Security:12.'),
  release: text('Suite of its repository, such as stable-security.'),
  currentVersion: text('Installed version; empty if none is.'),
  security: Type.Boolean({ description: 'Whether the package comes from a security repository (extension).' }),
}
const PendingPackage = Type.Object(packageFields)
const ForcedPackage = Type.Object({
  ...packageFields,
  pendingVersion: text('Version that an update would install.'),
})

const restartRequired = Type.Boolean({
  description: 'Whether an update takes effect only after a restart: of a kernel, or of libraries of this daemon.',
})
const Status = Type.Object({
  restartRequired,
  majorVersion: Type.Array(MajorVersion, { description: 'Newer major versions, oldest first.' }),
  details: Type.Array(PendingPackage, { description: 'Packages that an update would install, by name.' }),
})
const ForcedStatusData = Type.Object({
  restartRequired,
  majorVersion: Type.Array(Type.String(), { description: 'Numbers of newer major versions, oldest first.' }),
  details: Type.Array(ForcedPackage, { description: 'Packages that an update would install, by name.' }),
})

function about({ problem, details }: SoftwareStatus): string {
  const count = details.length === 1 ? '1 package' : `${details.length} packages`
  return problem === undefined ? `Software update status: ${count} pending` : `Software update status: ${problem}`
}

function plain({ restartRequired: isRequired, majorVersion, details }: SoftwareStatus) {
  return {
    restartRequired: isRequired,
    majorVersion: majorVersion.map((version) => ({ ...version })),
    details: details.map(({ pendingVersion: _pending, ...shown }) => shown),
  }
}

function forced(status: ForcedStatus) {
  const data = {
    restartRequired: status.restartRequired,
    majorVersion: status.majorVersion.map(({ versionNumber }) => versionNumber),
    details: status.details.map((shown) => ({ ...shown })),
  }
  if (!status.isDryRun) return Reply.with(data, { message: about(status) })
  const message = `${about(status)}; the trial profile does not contact the repositories`
  return Reply.with(data, { message, headers: { 'X-Dry-Run': 'true' } })
}

const Force = closed({
  force: Type.Optional(
    Type.Enum(['true', 'false'], {
      description: 'Proceed even if the other nodes of the cluster cannot work without this one (extension).',
    }),
  ),
})

const RECORDED = 'Recorded only: the trial profile changes no packages on this machine'

export const updates = [
  endpoint({
    name: 'updates.status',
    method: 'GET',
    path: `${PATH}/status`,
    effect: 'read',
    refuses: ['NOT_SUPPORTED'],
    summary: 'List available updates, as far as known without contacting the repositories',
    message: 'Software update status',
    data: Status,
    handle: async (ctx) => {
      const status = await ctx.updates.status()
      return Reply.with(plain(status), { message: about(status) })
    },
  }),
  endpoint({
    name: 'updates.force',
    method: 'GET',
    path: `${PATH}/status/force`,
    effect: 'read',
    sends: ['X-Dry-Run'],
    refuses: ['NOT_SUPPORTED', 'APPLY_IN_PROGRESS', 'JOB_IN_PROGRESS'],
    summary: 'Contact the repositories, then list available updates',
    message: 'Software update status',
    data: ForcedStatusData,
    handle: async (ctx) => forced(await ctx.updates.forced()),
  }),
  endpoint({
    name: 'updates.upload',
    method: 'POST',
    path: PATH,
    effect: 'act',
    staged: true,
    bodyBytes_max: UPLOAD_BYTES_MAX,
    managedOnly: true,
    refuses: ['APPLY_IN_PROGRESS', 'JOB_IN_PROGRESS'],
    summary: 'Upload a Debian package for the next update; it replaces an earlier upload of the same package',
    message: 'Package uploaded',
    body: closed({
      packages: Type.String({
        minLength: 1,
        description: 'Base64, with or without line breaks, of one .deb file for this machine.',
      }),
    }),
    data: Type.Object({
      packages: Type.Object(
        {
          name: text('Name of the package.'),
          version: text('Version of the package.'),
          arch: text('Architecture of the package.'),
        },
        { description: 'The uploaded package.' },
      ),
    }),
    handle: async (ctx, { body }) => {
      const { name, version, arch } = await ctx.updates.upload(body.packages)
      return { packages: { name, version, arch } }
    },
  }),
  endpoint({
    name: 'updates.start',
    method: 'PUT',
    path: PATH,
    effect: 'act',
    staged: true,
    status: 202,
    managedOnly: true,
    refuses: ['APPLY_IN_PROGRESS', 'JOB_IN_PROGRESS', 'IN_USE'],
    summary: 'Install every pending update and the uploaded packages',
    about: 'Starts a job that survives a restart of the daemon, which an update of Fulcrum itself causes',
    message: 'The update has started',
    query: Force,
    data: NoData,
    handle: async (ctx, { query }) =>
      begun(await ctx.updates.start(query.force === 'true', ctx.actor.email), [], RECORDED),
  }),
  endpoint({
    name: 'updates.majorVersion',
    method: 'PUT',
    path: `${PATH}/majorversion`,
    effect: 'act',
    staged: true,
    status: 202,
    managedOnly: true,
    refuses: ['APPLY_IN_PROGRESS', 'JOB_IN_PROGRESS', 'IN_USE', 'NAME_NOT_UNIQUE'],
    summary: 'Upgrade to another major version; with LVM, a snapshot of the root file system is created first',
    about:
      'Starts a job that survives a restart of the daemon; it installs the packages of the repositories of that version',
    message: 'The upgrade to the major version has started',
    query: Force,
    body: closed({ versionNumber: text('A version that the update status offers.') }),
    handle: async (ctx, { query, body }) => {
      const isForced = query.force === 'true'
      return begun(await ctx.updates.startMajor(body.versionNumber, isForced, ctx.actor.email), undefined, RECORDED)
    },
  }),
]
