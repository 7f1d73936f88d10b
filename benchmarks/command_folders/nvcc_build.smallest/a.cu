__global__ void f(int*a,int i){__shared__ int b[1<<14];*a=b[i];}
