import t from 'tap'
import { refuseGround } from '../../../../src/machine/updates/preflight.ts'
import { refusalOf, refuses } from '../../../fixtures/config.ts'

const MEBIBYTE = 1024 * 1024
const ground = (free_mib: Readonly<Record<string, number>>, download_mib = 0) => ({
  lockedFile: undefined,
  download_bytes: download_mib * MEBIBYTE,
  free: Object.entries(free_mib).map(([path, mib]) => ({ path, bytes: mib * MEBIBYTE })),
  sources: [],
})

t.test('it waits for a package manager in use', async (test) => {
  const error = await refuses(test, 'JOB_IN_PROGRESS', () =>
    refuseGround({ ...ground({}), lockedFile: '/var/lib/dpkg/lock-frontend' }),
  )
  test.match(error.message, /lock-frontend/)
  test.equal(error.details.headers?.['Retry-After'], '30')
})

t.test('too little space is reported with numbers, for each place', async (test) => {
  refuseGround(ground({ '/': 500, '/boot': 0, '/var/cache/apt/archives': 120 }, 100))
  const small = await refusalOf(() => refuseGround(ground({ '/': 499 }, 100)))
  test.match(small, { code: 'NOT_SUPPORTED', message: /on \/: 499 MiB are free, 500 MiB are needed/ })
  await refuses(test, 'NOT_SUPPORTED', () => refuseGround(ground({ '/var/cache/apt/archives': 119 }, 100)))
})

t.test('another release of the operating system needs space for a kernel as well', async (test) => {
  refuseGround(ground({ '/': 1124, '/boot': 100 }), true)
  await refuses(test, 'NOT_SUPPORTED', () => refuseGround(ground({ '/': 1123, '/boot': 100 }), true))
  await refuses(test, 'NOT_SUPPORTED', () => refuseGround(ground({ '/': 1124, '/boot': 99 }), true))
})
