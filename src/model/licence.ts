/** The contract's value for "unlimited". */
const UNLIMITED = 2_147_483_647
const SUPPORT_ENDS = { shown: '31/12/9999', ms: Date.UTC(9999, 11, 31) } as const
const DAY_MS = 86_400_000

/** The answer of an open project where others check a licence. */
export const licence = (now_ms: number) => ({
  updateType: 'community',
  platform: 'linux',
  serial: '',
  model: 'Fulcrum',
  supportExpired: false,
  daysToExpire: Math.ceil((SUPPORT_ENDS.ms - now_ms) / DAY_MS),
  companyName: '',
  maxVips: UNLIMITED,
  maxRips: UNLIMITED,
  supportExpireDate: SUPPORT_ENDS.shown,
  modules: [
    { name: 'layer4', fullName: 'Layer 4 load balancing (IPVS)', enabled: true },
    { name: 'layer7', fullName: 'Layer 7 load balancing (HAProxy)', enabled: true },
  ],
  licenceType: 'community',
})
