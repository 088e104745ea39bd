// The NVML of an old driver, which knows neither clocks nor utilization and has an older name for why it throttles.
int nvmlInit_v2(void) {
  return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  static int board;
  *device = &board;
  return bus_id[0] == 0;
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* power_mw) {
  *power_mw = 250000;
  return device == 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  *reasons = 4;
  return device == 0;
}
