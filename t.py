import torch,time
torch.set_num_threads(1)
w=torch.rand(50257,768); 
ts=[]
for i in range(40):
    ix=torch.randint(0,50257,(2048,)); a=time.thread_time_ns(); torch.embedding(w,ix); ts.append(time.thread_time_ns()-a)
print(sorted(ts)[20]/1e3)
