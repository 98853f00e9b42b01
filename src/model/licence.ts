/** What an open project answers where others check a licence. 0 means unlimited. */
export const LICENCE = {
  updateType: 'community',
  platform: 'linux',
  serial: '',
  model: 'Fulcrum',
  supportExpired: false,
  daysToExpire: 0,
  companyName: '',
  maxVips: 0,
  maxRips: 0,
  supportExpireDate: '31/12/9999',
  modules: [
    { name: 'layer4', fullName: 'Layer 4 load balancing (IPVS)', enabled: true },
    { name: 'layer7', fullName: 'Layer 7 load balancing (HAProxy)', enabled: true },
  ],
  licenceType: 'community',
}
